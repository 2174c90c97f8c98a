/// The local changes of an item that are discarded, and what that loses.
public struct DiscardedChange: Codable, Sendable, Equatable {
    /// Absolute, for people: invalid UTF-8 is shown as U+FFFD.
    public var path: String
    /// One or more of `creation`, `contents`, `move`, `metadata` and `deletion`.
    public var changes: [String]
    /// Bytes on this machine that are lost; as far as is known they exist nowhere else.
    public var bytes: Int64
    /// For the daemon: identifies the state of the item that this describes.
    public var state: [Int64]

    public init(path: String, changes: [String], bytes: Int64, state: [Int64]) {
        self.path = path
        self.changes = changes
        self.bytes = bytes
        self.state = state
    }
}

/// The version of a conflict to keep.
public enum KeptVersion: String, Codable, Sendable, CaseIterable {
    /// The conflicted copy's bytes become the original's contents.
    case mine
    /// The conflicted copy is removed.
    case theirs
    /// Both stay, under their names.
    case both
}

/// A document that was kept in two versions.
public struct ConflictStatus: Codable, Sendable, Equatable {
    /// The version that has the document's name; absolute, for people.
    public var original: String
    /// The conflicted copy beside it.
    public var copy: String
    /// When, in seconds since 1970.
    public var moment: Double
    /// For programs: `bothChanged`, `bothMade`, `nameTaken`, `replacedWhileWritten`, `editedMeanwhile` or `powerLoss`.
    public var reason: String
    /// For people.
    public var explanation: String
    /// Both paths for system calls, relative to the mount point.
    public var originalPlace: PathBytes?
    public var copyPlace: PathBytes?

    public init(
        original: String, copy: String, moment: Double, reason: String, explanation: String,
        originalPlace: PathBytes? = nil, copyPlace: PathBytes? = nil
    ) {
        self.originalPlace = originalPlace
        self.copyPlace = copyPlace
        self.original = original
        self.copy = copy
        self.moment = moment
        self.reason = reason
        self.explanation = explanation
    }
}

/// Deletions of the store that Hydrant does not carry out before a person agrees.
public struct HeldDeletionsStatus: Codable, Sendable, Equatable {
    /// Documents, folders and links.
    public var items: Int
    /// Items whose bytes are not all on this machine, which cannot be put back.
    public var incomplete: Int
    /// When the first of the deletions was held, in seconds since 1970.
    public var since: Double

    public init(items: Int, incomplete: Int, since: Double) {
        self.items = items
        self.incomplete = incomplete
        self.since = since
    }
}

/// The outcome for held deletions.
public struct ResolvedDeletions: Codable, Sendable, Equatable {
    /// How many items were deleted here (theirs), or are on their way back to the store (mine).
    public var items: Int
    /// How many items could not be put back, and are still held.
    public var incomplete: Int

    public init(items: Int, incomplete: Int) {
        self.items = items
        self.incomplete = incomplete
    }
}
