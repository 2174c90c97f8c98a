import Foundation
import Synchronization

/// Tells the waiting command, over an inherited pipe, how the start is going: a word a line.
///
/// A command that goes away before the last word (it was killed, perhaps because a provider took too long) has nobody who
/// would ever end this process: then it ends by itself (``endIfAbandoned()``).
package final class ReadyReport: Sendable {
    /// Names the descriptor to write to.
    private static let variable = "HYDRANT_READY_FD"

    /// What the command gets to hear.
    package enum Word: Equatable, Sendable {
        /// A daemon of ours is there.
        case hello
        /// Its provider has been made.
        case made
        /// Requests are answered.
        case ready
        /// It ends: why.
        case error(String)

        package init?(_ line: some StringProtocol) {
            switch line {
            case "hello": self = .hello
            case "made": self = .made
            case "ready": self = .ready
            case _ where line.hasPrefix("error "): self = .error(String(line.dropFirst(6)))
            default: return nil
            }
        }

        fileprivate var line: String {
            switch self {
            case .hello: "hello\n"
            case .made: "made\n"
            case .ready: "ready\n"
            case .error(let message): "error \(message.split(whereSeparator: \.isNewline).joined(separator: "; "))\n"
            }
        }
    }

    private let descriptor: Int32?
    /// The last word is said, or just being said.
    private let isOver = Mutex(false)

    /// - Returns: the descriptor that a daemon inherits, which the environment names, and the one to read from.
    package static func pipe() -> (daemon: Int32, own: Int32)? {
        var ends: [Int32] = [0, 0]
        guard Foundation.pipe(&ends) == 0 else { return nil }
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        setenv(variable, "\(ends[1])", 1)
        return (ends[1], ends[0])
    }

    /// The one that waits for this process, if one does. Our own children are to know nothing of it.
    init() {
        descriptor = getenv(Self.variable).flatMap { Int32(String(cString: $0)) }
        unsetenv(Self.variable)
        if let descriptor { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }

    var isAwaited: Bool { descriptor != nil }

    /// After the last word the command waits for no more.
    func say(_ word: Word) {
        guard let descriptor else { return }
        switch word {
        // First: the command may be gone as soon as it has read it.
        case .ready, .error: isOver.withLock { $0 = true }
        case .hello, .made: break
        }
        let text = word.line
        _ = text.withCString { write(descriptor, $0, strlen($0)) }
    }

    /// From now on this process ends when the command is gone that waits for it: by SIGTERM, so that it unmounts what it
    /// has mounted by then. Once.
    func endIfAbandoned() {
        guard let descriptor else { return }
        let thread = Thread { [self] in
            // A pipe that nobody can read from any more; it is closed here alone, so that the number means nothing else.
            var entry = pollfd(fd: descriptor, events: 0, revents: 0)
            while poll(&entry, 1, -1) < 0 && errno == EINTR {}
            let isAbandoned = isOver.withLock { !$0 }
            close(descriptor)
            guard isAbandoned else { return }
            LogStream().write("hydrant: ends: the command that started it is gone, and the mount is not up yet\n")
            kill(getpid(), SIGTERM)
            // Whatever a provider makes of the signal.
            sleep(Self.longestEnd)
            _exit(1)
        }
        thread.name = "starter"
        thread.start()
    }

    /// In seconds: how long an orderly end may take that nobody waits for.
    private static let longestEnd: UInt32 = 60
}
