/// A local change that is given up, and what that takes away.
public struct DiscardedChange: Codable, Sendable, Equatable {
    /// Absolute, for people: invalid UTF-8 is shown as U+FFFD.
    public var path: String
    /// `creation`, `contents`, `move`, `metadata` or `deletion`; several of one item.
    public var changes: [String]
    /// How many bytes on this machine go with it. For all that is known they are nowhere else.
    public var bytes: Int64
    /// The daemon's own: which state of the item this is said of.
    public var state: [Int64]

    public init(path: String, changes: [String], bytes: Int64, state: [Int64]) {
        self.path = path
        self.changes = changes
        self.bytes = bytes
        self.state = state
    }
}

/// Which version of a conflict stays.
public enum KeptVersion: String, Codable, Sendable, CaseIterable {
    /// The conflicted copy's bytes become the original's contents.
    case mine
    /// The conflicted copy goes.
    case theirs
    /// Both stay, under their names.
    case both
}

/// Two versions that were both kept.
public struct ConflictStatus: Codable, Sendable, Equatable {
    /// What has the name; absolute, for people.
    public var original: String
    /// What was kept beside it.
    public var copy: String
    /// When, in seconds since 1970.
    public var moment: Double
    /// For programs: `bothChanged`, `bothMade`, `nameTaken`, `replacedWhileWritten`, `editedMeanwhile` or `powerLoss`.
    public var reason: String
    /// For people.
    public var explanation: String
    /// Both for system calls, relative to the mount point.
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

/// Deletions in the store that are not carried out here before a person agrees.
public struct HeldDeletionsStatus: Codable, Sendable, Equatable {
    /// Documents, folders and links.
    public var items: Int
    /// Those of which not all is on this machine: nobody can put them back.
    public var incomplete: Int
    /// Since when the first of them is held, in seconds since 1970.
    public var since: Double

    public init(items: Int, incomplete: Int, since: Double) {
        self.items = items
        self.incomplete = incomplete
        self.since = since
    }
}

/// What became of held deletions.
public struct ResolvedDeletions: Codable, Sendable, Equatable {
    /// How many items are gone here now (theirs), or on their way back to the store (mine).
    public var items: Int
    /// How many could not be put back, and are still held.
    public var incomplete: Int

    public init(items: Int, incomplete: Int) {
        self.items = items
        self.incomplete = incomplete
    }
}
