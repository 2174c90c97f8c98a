/// Why a provider could not do what it was asked, with enough said for a person to act on it.
///
/// Source: Apple, `NSFileProviderError`, and the errors of the iOS 8 hooks.
public struct FileProviderError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is; decides the errno, whether it is tried again, and whether it may be
    /// a conflict.
    public struct Code: Hashable, Sendable, CaseIterable, CustomStringConvertible {
        private enum Known: String, CaseIterable {
            case noSuchItem, filenameCollision, versionMismatch, serverUnreachable, notAuthenticated
            case permissionDenied, insufficientQuota, cannotSynchronize, directoryNotEmpty, busy
            case cancelled, invalidName, unsupported, readOnly, syncAnchorExpired
        }
        private let known: Known
        private init(_ known: Known) { self.known = known }
        /// The name of the code, as it stands here.
        public var description: String { known.rawValue }
        /// Every code there is.
        public static var allCases: [Code] { Known.allCases.map(Code.init) }

        /// The store answered, and has no such item. Never use it when the store did not answer.
        public static let noSuchItem = Code(.noSuchItem)
        /// Another item has this name in this folder; ``FileProviderError/item`` is that item.
        public static let filenameCollision = Code(.filenameCollision)
        /// The item is not at the version that was given; ``FileProviderError/item`` is what it is now.
        public static let versionMismatch = Code(.versionMismatch)
        /// The store did not answer: offline, refused, timed out. Tried again, for ever.
        public static let serverUnreachable = Code(.serverUnreachable)
        /// The user must sign in again.
        public static let notAuthenticated = Code(.notAuthenticated)
        /// The store answered, and this user may not.
        public static let permissionDenied = Code(.permissionDenied)
        /// The store has no room for it.
        public static let insufficientQuota = Code(.insufficientQuota)
        /// Something in the store or on the way failed that may pass: tried again, ever less often.
        public static let cannotSynchronize = Code(.cannotSynchronize)
        /// A folder to be deleted still has items in it.
        public static let directoryNotEmpty = Code(.directoryNotEmpty)
        /// Somebody has the item locked; tried again.
        public static let busy = Code(.busy)
        /// The task that asked was cancelled.
        public static let cancelled = Code(.cancelled)
        /// The store refuses this name.
        public static let invalidName = Code(.invalidName)
        /// The store cannot do this at all (a symbolic link, say). Not tried again.
        public static let unsupported = Code(.unsupported)
        /// The store takes no changes.
        public static let readOnly = Code(.readOnly)
        /// The store does not remember what changed since so long ago; see ``ChangeEnumerating``.
        public static let syncAnchorExpired = Code(.syncAnchorExpired)
    }

    /// What kind of failure it is.
    public var code: Code
    /// For people: what happened, to which item.
    public var message: String
    /// What the store has now, with ``Code/filenameCollision`` and ``Code/versionMismatch``.
    public var item: Item?
    /// What a lower layer said, if one did.
    public var cause: (any Error)?

    /// - Parameters:
    ///   - message: for people: what happened, to which item, and what they can do.
    ///   - item: what the store has now, where the code asks for it.
    ///   - cause: what a lower layer said.
    public init(_ code: Code, _ message: String, item: Item? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.item = item
        self.cause = cause
    }

    /// Code, message and cause: for a log.
    public var description: String {
        cause.map { "\(code): \(message) (\($0))" } ?? "\(code): \(message)"
    }
}
