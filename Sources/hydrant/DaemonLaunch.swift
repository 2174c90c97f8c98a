import ArgumentParser
import ChildProcess
import Daemon
import Foundation
import Surroundings

/// Starts the daemon of a mount: in this process's place, or as a process in a session of its own, which then reports
/// how its start went. (A running Swift process must not fork: its threads would be gone.)
struct DaemonLaunch {
    let program: ProviderProgram
    private(set) var configuration: DaemonConfiguration
    /// Seconds until the daemon must have said hello, and until it must have made its provider.
    private let patience: (hello: Double, made: Double)

    init(_ program: ProviderProgram, _ configuration: DaemonConfiguration) {
        self.program = program
        self.configuration = configuration
        let given = ProcessInfo.processInfo.environment["HYDRANT_START_TIMEOUT"].flatMap(Double.init)
            .flatMap { WaitingTime.isPossible($0) ? $0 : nil }
        patience = (given ?? 20, given ?? 120)
    }

    private var name: String { program.path }

    // MARK: In the foreground

    /// Returns only by an error.
    func replaceThisProcess() throws(ExitCode) -> Never {
        _ = try offer()
        unblockSignals()
        var arguments = words(program.arguments)
        execv(program.path, &arguments)
        throw fail("\(name): cannot be started: \(String(cString: strerror(errno)))")
    }

    /// Dispatch's threads block signals, and a program that is started inherits that.
    private func unblockSignals() {
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
    }

    private func offer() throws(ExitCode) -> Int32 {
        keepMemoryOutOfTraces()
        do { return try DaemonHandover.offer(configuration) } catch { throw fail(error.message) }
    }

    /// With registers, the runtime's trace of a crash shows the memory that they point at. A daemon's memory holds
    /// documents and passwords, which must not get into the log.
    private func keepMemoryOutOfTraces() {
        let wanted = ProcessInfo.processInfo.environment["SWIFT_BACKTRACE"].map { $0 + "," } ?? ""
        setenv("SWIFT_BACKTRACE", wanted + "registers=none", 1)
    }

    private func words(_ words: [String]) -> [UnsafeMutablePointer<CChar>?] { words.map { strdup($0) } + [nil] }

    // MARK: In the background

    /// Returns when the mount answers.
    @discardableResult
    mutating func inBackground() throws(ExitCode) -> pid_t {
        let output = openLog()
        defer { close(output) }
        guard let ends = ReadyReport.pipe() else {
            throw fail("cannot make a pipe: \(String(cString: strerror(errno)))")
        }
        let log = configuration.logFile ?? "none"
        let pid = try spawn(output, ready: ends.daemon)
        close(ends.daemon)
        let end = Listening(to: ends.own).wait(patience)
        close(ends.own)
        switch end {
        case .ready:
            // A process must not touch the mount that it serves, so we look, not the daemon.
            var status = stat()
            guard stat(configuration.mountPoint, &status) == 0 else {
                throw fail(
                    "\(configuration.mountPoint): mounted, but does not answer: \(String(cString: strerror(errno)))")
            }
            return pid
        case .error(let message): throw fail(message)
        case .silent(let heard):
            // The daemon leads a session of its own, and so a process group.
            kill(-pid, SIGKILL)
            let how = "said nothing for \(Int(heard ? patience.made : patience.hello)) s and was killed"
            throw fail(
                heard
                    ? "\(name): \(how); its provider takes too long to start (log: \(log))"
                    : "\(name): \(how); it is not a provider program of this release")
        case .hungUp(let heard):
            let how = Self.describe(waitForEnd(of: pid))
            throw fail(
                heard
                    ? "\(name): \(how) before the mount was up (log: \(log))"
                    : "\(name): \(how) without a word; it is not a provider program of this release (log: \(log))"
            )
        }
    }

    private func spawn(_ output: Int32, ready: Int32) throws(ExitCode) -> pid_t {
        let offered = try offer()
        defer { close(offered) }
        keepFromDaemon(allBut: [offered, ready])
        do {
            return try Spawn.start(program.path, program.arguments.map { Array($0.utf8) }, as: .ownSession) { actions in
                posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
                posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
                posix_spawn_file_actions_adddup2(&actions, output, 2)
            }
        } catch { throw fail("\(name): cannot be started: \(error.reason)") }
    }

    /// The daemon lives for days: files that this command has inherited, such as one that a shell has open in another
    /// mount, are not to stay open for so long.
    private func keepFromDaemon(allBut kept: Set<Int32>) {
        for descriptor in (SystemFile.names(in: "/proc/self/fd") ?? []).compactMap({ Int32($0) })
        where descriptor > STDERR_FILENO && !kept.contains(descriptor) {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    private func waitForEnd(of pid: pid_t) -> Int32 {
        var status: Int32 = 0
        // A process that closed the pipe may still run.
        for _ in 0..<100 {
            if waitpid(pid, &status, WNOHANG) == pid { return status }
            usleep(20_000)
        }
        kill(-pid, SIGKILL)
        waitpid(pid, &status, 0)
        return status
    }

    private static func describe(_ status: Int32) -> String {
        let signal = status & 0x7f
        return signal == 0
            ? "ended with status \((status >> 8) & 0xff)"
            : "was killed by signal \(signal) (\(String(cString: strsignal(signal))))"
    }

    /// Opens the log of a daemon in the background. If that fails, the mount goes on without a log.
    private mutating func openLog() -> Int32 {
        do {
            let log = try LogFile.usual()
            let descriptor = try log.open()
            // Bounds the file even when daemon after daemon crashes at its start, with a trace each.
            log.follow(descriptor)
            configuration.logFile = log.path
            return descriptor
        } catch {
            warn("the daemon writes no log: \(error.message)")
            return open("/dev/null", O_WRONLY | O_CLOEXEC)
        }
    }
}

/// Reads a daemon's messages while it starts.
private struct Listening {
    enum End {
        case ready
        case error(String)
        /// The daemon closed the pipe: it has ended, or is about to. `heard`: it had said hello.
        case hungUp(heard: Bool)
        case silent(heard: Bool)
    }

    private let descriptor: Int32
    init(to descriptor: Int32) { self.descriptor = descriptor }

    func wait(_ patience: (hello: Double, made: Double)) -> End {
        var said: [UInt8] = []
        var heard = false
        // No limit after the provider is made: migrating a large catalog takes its time.
        var deadline: ContinuousClock.Instant? = .now + .seconds(patience.hello)
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            guard isReadable(by: deadline) else { return .silent(heard: heard) }
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { return .hungUp(heard: heard) }
            said += buffer[..<count]
            while let newline = said.firstIndex(of: UInt8(ascii: "\n")) {
                let word = ReadyReport.Word(String(decoding: said[..<newline], as: UTF8.self))
                said.removeSubrange(...newline)
                switch word {
                case .hello:
                    heard = true
                    deadline = .now + .seconds(patience.made)
                case .made: deadline = nil
                case .ready: return .ready
                case .error(let message): return .error(message)
                case nil: break
                }
            }
        }
    }

    private func isReadable(by deadline: ContinuousClock.Instant?) -> Bool {
        while true {
            let left = deadline.map { max(.zero, $0 - .now) / .milliseconds(1) }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let count = poll(&entry, 1, left.map { Int32(min($0.rounded(.up), 1e9)) } ?? -1)
            if count > 0 { return true }
            if count == 0 { return false }
            if errno != EINTR { return true }
        }
    }
}
