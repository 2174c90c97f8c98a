import Foundation

/// Tells the waiting command, over an inherited pipe, how the start is going: a word a line.
package struct ReadyReport: Sendable {
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

    /// The last word closes the pipe: the command waits for no more.
    func say(_ word: Word) {
        guard let descriptor else { return }
        let text = word.line
        _ = text.withCString { write(descriptor, $0, strlen($0)) }
        switch word {
        case .ready, .error: close(descriptor)
        case .hello, .made: break
        }
    }
}
