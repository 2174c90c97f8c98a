import ControlAPI

/// Why an access was not granted.
public struct CoordinationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// For programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Known: String {
            case notInADomain, noSuchItem, wouldDeadlock, download, cancelled, timedOut, notRunning, refused,
                badBookmark,
                notGranted, notMine, otherKey, otherContents
        }
        private let known: Known
        private init(_ known: Known) { self.known = known }
        /// Its name.
        public var description: String { known.rawValue }

        /// It lies in no mounted domain.
        public static let notInADomain = Code(.notInADomain)
        /// Nothing is there, or the folder cannot be listed.
        public static let noSuchItem = Code(.noSuchItem)
        /// It would wait for others who wait, in the end, for something that this program holds.
        public static let wouldDeadlock = Code(.wouldDeadlock)
        /// The contents could not be brought.
        public static let download = Code(.download)
        /// The task was cancelled before it was granted.
        public static let cancelled = Code(.cancelled)
        /// It was not granted in the time given.
        public static let timedOut = Code(.timedOut)
        /// The domain's daemon does not answer, or has ended.
        public static let notRunning = Code(.notRunning)
        /// Anything else that the daemon says.
        public static let refused = Code(.refused)

        /// It is no bookmark, or somebody changed it.
        public static let badBookmark = Code(.badBookmark)
        /// There is no right to the item: none was given, it was revoked, its time is over, or it is another program's.
        public static let notGranted = Code(.notGranted)
        /// It has other contents by now than those that were meant.
        public static let otherContents = Code(.otherContents)
        static let notMine = Code(.notMine)
        static let otherKey = Code(.otherKey)

        init(answer: String) {
            switch answer {
            case "path", "noSuchItem": self = .noSuchItem
            case "wouldDeadlock": self = .wouldDeadlock
            case "download": self = .download
            case "cancelled": self = .cancelled
            case "badBookmark": self = .badBookmark
            case "notGranted", "revoked", "expired": self = .notGranted
            case ControlFailure.notMine: self = .notMine
            case ControlFailure.otherKey: self = .otherKey
            case ControlFailure.otherContents: self = .otherContents
            default: self = .refused
            }
        }
    }

    /// What kind of reason it is.
    public let code: Code
    /// What happened, to which file, and what to do.
    public let message: String
    /// The message.
    public var description: String { message }

    /// See the properties.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
