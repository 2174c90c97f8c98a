/// The failure of a provider's call, in words on which a user can act.
///
/// Source: Apple, `NSFileProviderError`, and the errors of the iOS 8 hooks.
public struct FileProviderError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure; decides the errno, whether the call is tried again, and whether it may be a conflict.
    public struct Code: Hashable, Sendable, CaseIterable, CustomStringConvertible {
        private enum Known: String, CaseIterable {
            case noSuchItem, filenameCollision, versionMismatch, serverUnreachable, notAuthenticated
            case permissionDenied, insufficientQuota, cannotSynchronize, directoryNotEmpty, busy
            case cancelled, invalidName, unsupported, readOnly, syncAnchorExpired
        }
        private let known: Known
        private init(_ known: Known) { self.known = known }
        /// The name of the code.
        public var description: String { known.rawValue }
        /// All codes.
        public static var allCases: [Code] { Known.allCases.map(Code.init) }

        /// The store answered, and has no such item. Never use it when the store did not answer.
        public static let noSuchItem = Code(.noSuchItem)
        /// Another item has this name in this folder; ``FileProviderError/item`` is that item.
        public static let filenameCollision = Code(.filenameCollision)
        /// The item is not at the version that was given; ``FileProviderError/item`` is the item as it is now.
        public static let versionMismatch = Code(.versionMismatch)
        /// The store did not answer: offline, refused, timed out. Tried again for ever.
        public static let serverUnreachable = Code(.serverUnreachable)
        /// The user must sign in again.
        public static let notAuthenticated = Code(.notAuthenticated)
        /// The store answered, and does not allow this user to do it.
        public static let permissionDenied = Code(.permissionDenied)
        /// The store has no room.
        public static let insufficientQuota = Code(.insufficientQuota)
        /// A failure in the store or on the way that may pass: tried again, ever less often.
        public static let cannotSynchronize = Code(.cannotSynchronize)
        /// A folder to be deleted still has items in it.
        public static let directoryNotEmpty = Code(.directoryNotEmpty)
        /// Another program or user has the item locked; tried again.
        public static let busy = Code(.busy)
        /// The task that asked was cancelled.
        public static let cancelled = Code(.cancelled)
        /// The store refuses this name.
        public static let invalidName = Code(.invalidName)
        /// The store cannot do this at all (a symbolic link, say). Not tried again.
        public static let unsupported = Code(.unsupported)
        /// The store takes no changes.
        public static let readOnly = Code(.readOnly)
        /// The store does not remember changes that far back; see ``ChangeEnumerating``.
        public static let syncAnchorExpired = Code(.syncAnchorExpired)
    }

    /// The kind of failure.
    public var code: Code
    /// For people: what happened, to which item, and what to do.
    public var message: String
    /// The item in the store now, with ``Code/filenameCollision`` and ``Code/versionMismatch``.
    public var item: Item?
    /// The error of a lower layer, if there is one.
    public var cause: (any Error)?
    /// With ``Code/serverUnreachable``: the store refused the connection or dropped it, as one does that is being restarted. A read
    /// that failed so is asked for again, for ten seconds, before the store counts as unreachable.
    public var isTransient = false

    /// - Parameters:
    ///   - message: for people: what happened, to which item, and what to do.
    ///   - item: the item in the store now, where the code asks for it.
    ///   - cause: the error of a lower layer.
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
