import CLinux
import Foundation
import Synchronization

/// Runs a program for its output. It waits for the program itself, not for processes that the program leaves in the
/// background with its output open.
package struct ChildProcess: Sendable {
    /// The program, found in PATH, and its arguments.
    private let words: [String]
    private let limit: Duration

    package enum Output: Sendable {
        case standardOutput, standardError
        /// Its standard error is discarded: it may have words of a document, which must not reach a terminal.
        case standardOutputAlone
    }

    package struct Ending: Sendable {
        /// As in a shell: 128 and more for a signal.
        package var status: Int32
        /// The beginning of its output.
        package var printed: [UInt8]
        /// The peak memory of the program, or of a program that it waited for, in bytes.
        package var memory: Int64
    }

    /// Ends a program early, from any thread.
    package final class Stop: Sendable {
        private let flag = Atomic(false)
        package init() {}
        package func set() { flag.store(true, ordering: .relaxed) }
        package var isSet: Bool { flag.load(ordering: .relaxed) }
    }

    package enum Failure: Error, Sendable, CustomStringConvertible {
        case notStarted(Int32)
        /// It did not end in time, and was killed.
        case tooSlow
        /// A ``Stop`` ended it.
        case stopped

        package var description: String {
            switch self {
            case .notStarted(let code): "cannot be started: \(String(cString: strerror(code)))"
            case .tooSlow: "did not end in time"
            case .stopped: "was stopped"
            }
        }
    }

    /// In bytes: further output is dropped.
    private let mostPrinted: Int
    private let bounds: Bounds?
    private let stop: Stop?

    /// Limits for each of its processes.
    package struct Bounds: Sendable {
        /// Address space, in bytes.
        package var memory: UInt64
        /// Processor time.
        package var seconds: UInt64
        /// The size of a file that it writes, in bytes.
        package var file: UInt64

        package init(memory: UInt64, seconds: UInt64, file: UInt64) {
            self.memory = memory
            self.seconds = seconds
            self.file = file
        }
    }
    /// Time between SIGTERM and SIGKILL.
    private static let grace = Duration.seconds(2)

    package init(
        _ words: [String], limit: Duration, mostPrinted: Int = 64 << 10, bounds: Bounds? = nil, stop: Stop? = nil
    ) {
        self.words = words
        self.stop = stop
        self.bounds = bounds
        self.mostPrinted = mostPrinted
        self.limit = limit
    }

    /// Blocks: call it on a thread of your own.
    ///
    /// - Parameter input: its standard input, at most a pipe's capacity (64 KiB); its other output is discarded.
    package func run(input: [UInt8] = [], reading output: Output) throws(Failure) -> Ending {
        var (given, taken): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        defer { for end in given + taken where end >= 0 { close(end) } }
        guard clinux_pipe(&given, O_CLOEXEC) == 0, clinux_pipe(&taken, O_CLOEXEC | O_NONBLOCK) == 0 else {
            throw .notStarted(errno)
        }
        _ = fcntl(given[1], F_SETFL, O_NONBLOCK)
        _ = input.withUnsafeBytes { write(given[1], $0.baseAddress, $0.count) }
        // (The child's end must be blocking.)
        _ = fcntl(taken[1], F_SETFL, 0)
        let child = try spawn(input: given[0], output: taken[1], output)
        for end in [given[0], given[1], taken[1]] { close(end) }
        (given, taken[1]) = ([-1, -1], -1)
        return try follow(child, taken[0])
    }

    private func spawn(input: Int32, output: Int32, _ which: Output) throws(Failure) -> pid_t {
        let (shown, other) = which == .standardError ? (STDERR_FILENO, STDOUT_FILENO) : (STDOUT_FILENO, STDERR_FILENO)
        let child: pid_t
        do {
            // A process group of its own, which is killed as a whole when the time is up.
            child = try Spawn.start(
                words[0], words.map { Array($0.utf8) }, as: .ownGroup,
                usual: [SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP]
            ) { actions in
                posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
                posix_spawn_file_actions_adddup2(&actions, output, shown)
                // Its standard error goes to ours.
                if which != .standardOutput {
                    posix_spawn_file_actions_addopen(&actions, other, "/dev/null", O_WRONLY, 0)
                }
            }
        } catch { throw .notStarted(error.number) }
        // (It has just started; processes that it starts inherit the limits.)
        if let bounds { _ = clinux_bound(child, bounds.memory, bounds.seconds, bounds.file) }
        return child
    }

    private func follow(_ child: pid_t, _ output: Int32) throws(Failure) -> Ending {
        let deadline = ContinuousClock.now + limit
        var (printed, isOpen) = ([UInt8](), true)
        while ContinuousClock.now < deadline {
            if isOpen {
                var entry = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
                poll(&entry, 1, 20)
                isOpen = read(output, &printed)
            } else {
                usleep(2_000)
            }
            if let (status, memory) = Self.ending(of: child, WNOHANG) {
                // Its last output, but not that of others, which may go on for ever.
                if isOpen { _ = read(output, &printed) }
                return Ending(status: status, printed: printed, memory: memory)
            }
            if stop?.isSet ?? false {
                end(child)
                throw .stopped
            }
        }
        end(child)
        throw .tooSlow
    }

    /// Reads the available output. False: the end.
    private func read(_ output: Int32, _ printed: inout [UInt8]) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        for _ in 0..<32 {
            let count = Foundation.read(output, &buffer, buffer.count)
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            if count == 0 { return false }
            printed += buffer[..<min(count, max(0, mostPrinted - printed.count))]
        }
        return true
    }

    /// Kills the whole group. The child is collected last: until then its number, which is the group's, is not reused.
    private func end(_ child: pid_t) {
        kill(-child, SIGTERM)
        let deadline = ContinuousClock.now + Self.grace
        var found = siginfo_t()
        while found.si_signo == 0 && ContinuousClock.now < deadline {
            usleep(10_000)
            if waitid(P_PID, id_t(child), &found, WEXITED | WNOHANG | WNOWAIT) != 0 && errno != EINTR { break }
        }
        kill(-child, SIGKILL)
        _ = Self.ending(of: child, 0)
    }

    /// Nil: still running.
    private static func ending(of child: pid_t, _ flags: Int32) -> (status: Int32, memory: Int64)? {
        var (status, usage) = (Int32(), rusage())
        while true {
            let found = wait4(child, &status, flags, &usage)
            if found == 0 { return nil }
            if found < 0 && errno == EINTR { continue }
            // (If other code has waited for the child, its status is unknown.)
            guard found == child else { return (255, 0) }
            // Memory is in KiB (getrusage(2)).
            return (Spawn.status(ofWait: status), Int64(usage.ru_maxrss) << 10)
        }
    }
}
