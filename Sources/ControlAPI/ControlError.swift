/// An error of the connection to the daemon, or of the daemon's socket.
public struct ControlError: Error, Sendable, CustomStringConvertible {
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Known: String {
            case notRunning, timedOut, protocolError, refused, cancelled, system
        }
        private let known: Known
        private init(_ known: Known) { self.known = known }
        public var description: String { known.rawValue }

        /// No daemon listens on the socket.
        public static let notRunning = Code(.notRunning)
        /// No answer came within the time given.
        public static let timedOut = Code(.timedOut)
        /// The other side violated the protocol, or hung up before its answer.
        public static let protocolError = Code(.protocolError)
        /// A check of owner or mode failed, or another daemon has the socket.
        public static let refused = Code(.refused)
        /// The waiting task was cancelled.
        public static let cancelled = Code(.cancelled)
        /// A system call failed.
        public static let system = Code(.system)
    }

    public var code: Code
    /// For people: what happened and what to do about it.
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
