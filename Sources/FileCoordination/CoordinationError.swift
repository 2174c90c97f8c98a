import ControlAPI

/// The reason why an access was not granted.
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
        /// The code's name.
        public var description: String { known.rawValue }

        /// The item is in no mounted domain.
        public static let notInADomain = Code(.notInADomain)
        /// The item does not exist, or its folder cannot be listed.
        public static let noSuchItem = Code(.noSuchItem)
        /// The access would wait for others who wait, directly or indirectly, for a claim of this program.
        public static let wouldDeadlock = Code(.wouldDeadlock)
        /// The contents could not be downloaded.
        public static let download = Code(.download)
        /// The task was cancelled before the grant.
        public static let cancelled = Code(.cancelled)
        /// The access was not granted in time.
        public static let timedOut = Code(.timedOut)
        /// The domain's daemon does not answer, or has ended.
        public static let notRunning = Code(.notRunning)
        /// The daemon refuses for another reason.
        public static let refused = Code(.refused)

        /// The data is no bookmark, or somebody changed it.
        public static let badBookmark = Code(.badBookmark)
        /// There is no right to the item: none was given, it was revoked, it has expired, or it is another program's.
        public static let notGranted = Code(.notGranted)
        /// The document no longer has the contents in question.
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

    /// The kind of error.
    public let code: Code
    /// The file, what happened, and what to do.
    public let message: String
    /// The message.
    public var description: String { message }

    /// See the properties.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
