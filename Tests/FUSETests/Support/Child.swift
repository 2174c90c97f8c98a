import Glibc
import Synchronization

/// A process that uses the mount, since the one that serves it must not. What it prints goes
/// to a file: nobody has to empty a pipe.
final class Child: Sendable {
    struct Result {
        /// nil: ended by a signal.
        var status: Int32?
        var signal: Int32?
        var output: String
        var timedOut = false
        var seconds: Double
    }

    let pid: pid_t
    private let output: String
    private let started = ContinuousClock.now
    private static let counter = Atomic(0)
    /// Those still running, for the watchdog.
    static let running = Mutex<Set<pid_t>>([])

    init(_ command: String, variables: [String: String] = [:]) {
        let number = Self.counter.add(1, ordering: .relaxed).newValue
        output = "/tmp/hydrant-fuse-test.\(getpid()).\(number).out"

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)

        // A group of its own, and no signal blocked or ignored that this process blocks.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var defaults = sigset_t()
        sigemptyset(&none)
        sigemptyset(&defaults)
        for signal in [SIGINT, SIGTERM, SIGPIPE] { sigaddset(&defaults, signal) }
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let environment = ["PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"] + variables.map { "\($0)=\($1)" }
        let arguments = ["sh", "-c", command]
        let words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        let values: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for word in words + values { free(word) } }
        var pid = pid_t()
        let result = posix_spawn(&pid, "/bin/sh", &actions, &attributes, words, values)
        precondition(result == 0, "cannot start a shell: errno \(result)")
        self.pid = pid
        _ = Self.running.withLock { $0.insert(pid) }
    }

    static func run(_ command: String, _ variables: [String: String] = [:], limit: Double = 10) async -> Result {
        await Child(command, variables: variables).end(limit: limit)
    }

    func signal(_ signal: Int32) { kill(-pid, signal) }

    /// Waits until it has ended; after `limit` seconds (of an idle machine: four times that) it is killed.
    func end(limit: Double = 10) async -> Result {
        var status: Int32 = 0
        var timedOut = false
        while true {
            let ended = waitpid(pid, &status, WNOHANG)
            if ended == pid || ended == -1 && errno != EINTR { break }
            let waited = (ContinuousClock.now - started) / .seconds(1)
            if waited > max(limit * 4, 60), !timedOut {
                timedOut = true
                signal(SIGKILL)
            }
            // Not even SIGKILL: leave it to the watchdog.
            if waited > max(limit * 4, 60) + 30 { break }
            try? await Task.sleep(for: .milliseconds(2))
        }
        _ = Self.running.withLock { $0.remove(pid) }
        defer { unlink(output) }
        return Result(
            status: status & 0x7f == 0 ? (status >> 8) & 0xff : nil,
            signal: status & 0x7f == 0 ? nil : status & 0x7f, output: Self.read(output), timedOut: timedOut,
            seconds: (ContinuousClock.now - started) / .seconds(1))
    }

    private static func read(_ path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
