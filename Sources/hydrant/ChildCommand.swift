import ControlAPI
import Foundation

/// A command that this one runs.
struct ChildCommand: Sendable {
    let words: [String]
    /// Variables added to our environment.
    var environment: [String: String] = [:]

    /// - Returns: the exit status as a shell reports it.
    func run() async throws -> Int32 {
        let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        return await Self.wait(for: try Self.spawn(words[0], words, all))
    }

    /// - Parameter inherited: a descriptor that becomes number 9 in the child.
    static func spawn(
        _ program: String, _ words: [String], _ environment: [String: String], inherited: Int32? = nil
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let inherited { posix_spawn_file_actions_adddup2(&actions, inherited, 9) }
        // A task's thread blocks nearly all signals, and we ignore SIGPIPE; the child must inherit neither.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let (argv, envp) = (
            words.map { ByteText.withPath($0) { strdup($0) } } + [nil],
            environment.map { strdup("\($0)=\($1)") } + [nil]
        )
        defer { (argv + envp).forEach { free($0) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, program, &actions, &attributes, argv, envp)
        guard code == 0 else { throw fail("\(program): cannot be started: \(String(cString: strerror(code)))") }
        return child
    }

    static func wait(for child: pid_t) async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread {
                var status: Int32 = 0
                while waitpid(child, &status, 0) < 0 && errno == EINTR {}
                // WIFEXITED, WEXITSTATUS and WTERMSIG of wait(2).
                continuation.resume(returning: status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f)
            }.start()
        }
    }
}
