import Foundation
import Synchronization

/// Reports the progress of the start to the waiting command over an inherited pipe: one word on each line.
///
/// If the command goes away before the last word (for example killed, because a provider took too long), nobody would
/// ever end this process: it ends by itself (``endIfAbandoned()``).
package final class ReadyReport: Sendable {
    /// Contains the number of the descriptor to write to.
    private static let variable = "HYDRANT_READY_FD"

    /// A message to the command.
    package enum Word: Equatable, Sendable {
        /// The daemon has started.
        case hello
        /// The provider has been created.
        case made
        /// The mount answers requests.
        case ready
        /// The daemon ends; the reason.
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
    /// The last word has been sent, or is being sent.
    private let isOver = Mutex(false)

    /// - Returns: the descriptor that a daemon inherits, whose number is in the environment, and the descriptor to read
    ///   from.
    package static func pipe() -> (daemon: Int32, own: Int32)? {
        var ends: [Int32] = [0, 0]
        guard Foundation.pipe(&ends) == 0 else { return nil }
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        setenv(variable, "\(ends[1])", 1)
        return (ends[1], ends[0])
    }

    /// Finds the waiting command, if there is one. Clears the variable, so that children do not see it.
    init() {
        descriptor = getenv(Self.variable).flatMap { Int32(String(cString: $0)) }
        unsetenv(Self.variable)
        if let descriptor { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }

    var isAwaited: Bool { descriptor != nil }

    /// After the last word the command stops waiting.
    func say(_ word: Word) {
        guard let descriptor else { return }
        switch word {
        // Set this first: the command may exit as soon as it has read the word.
        case .ready, .error: isOver.withLock { $0 = true }
        case .hello, .made: break
        }
        let text = word.line
        _ = text.withCString { write(descriptor, $0, strlen($0)) }
    }

    /// From now on, ends this process with SIGTERM if the waiting command goes away, so that the process unmounts
    /// first. Call this once.
    func endIfAbandoned() {
        guard let descriptor else { return }
        let thread = Thread { [self] in
            // Wait until the pipe has no reader. Only this thread closes the descriptor, so that its number cannot be
            // reused meanwhile.
            var entry = pollfd(fd: descriptor, events: 0, revents: 0)
            while poll(&entry, 1, -1) < 0 && errno == EINTR {}
            let isAbandoned = isOver.withLock { !$0 }
            close(descriptor)
            guard isAbandoned else { return }
            LogStream().write("hydrant: ending: the command that started this daemon ended before the mount was up\n")
            kill(getpid(), SIGTERM)
            // Exit even if the provider ignores the signal.
            sleep(Self.longestEnd)
            _exit(1)
        }
        thread.name = "starter"
        thread.start()
    }

    /// Seconds that a clean exit may take after the command has gone.
    private static let longestEnd: UInt32 = 60
}
