/// Names one claim, in whatever daemon it is.
package struct ClaimID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
    package var description: String { rawValue }
    package static func < (left: ClaimID, right: ClaimID) -> Bool { left.rawValue < right.rawValue }
}

/// What a claim, or a presenter, is about. It stays the same when the item is renamed.
package enum ClaimSubject: Hashable, Sendable {
    /// By its number in the catalog.
    case item(Int64)
    /// A file that is no item, by its inode.
    case file(Int64)
    /// A name that nothing has, in the folder with this inode.
    case name(folder: Int64, bytes: [UInt8])
}

/// Where a subject is now.
package struct ClaimTarget: Hashable, Sendable {
    /// A name that something has by now is that.
    package var subject: ClaimSubject
    /// The folders above.
    package var above: Set<ClaimSubject>

    package init(_ subject: ClaimSubject, above: Set<ClaimSubject> = []) {
        self.subject = subject
        self.above = above
    }

    /// The same, or something in it.
    package func covers(_ other: ClaimTarget) -> Bool { subject == other.subject || other.above.contains(subject) }
}

/// What is to be done with one item.
package struct ClaimIntent: Hashable, Sendable {
    package enum Access: Hashable, Sendable {
        /// - Parameter savesFirst: presenters are asked to save what they have not.
        case reading(savesFirst: Bool)
        case writing(savesFirst: Bool, deletes: Bool)
    }
    package var subject: ClaimSubject
    /// What it is about when the item is gone: who makes another one of its name claims that.
    package var otherwise: ClaimSubject?
    package var access: Access
    /// Presenters are not asked.
    package var isMetadataOnly: Bool

    package init(
        _ subject: ClaimSubject, otherwise: ClaimSubject? = nil, _ access: Access, isMetadataOnly: Bool = false
    ) {
        self.subject = subject
        self.otherwise = otherwise
        self.access = access
        self.isMetadataOnly = isMetadataOnly
    }

    package var isWriting: Bool { if case .writing = access { true } else { false } }
}

/// A wish to read or write some items with nobody in between.
package struct Claim: Sendable {
    package let id: ClaimID
    /// Claims of one purpose do not exclude each other.
    package let purpose: String
    /// Claims that whoever makes this one holds, and will hold until this one is over.
    package let within: Set<ClaimID>
    /// On whose behalf.
    package let presenter: PresenterID?
    /// For people: who it is.
    package let holder: String
    package let intents: [ClaimIntent]

    package init(
        id: ClaimID, purpose: String, within: Set<ClaimID> = [], presenter: PresenterID? = nil, holder: String = "",
        intents: [ClaimIntent]
    ) {
        self.id = id
        self.purpose = purpose
        self.within = within
        self.presenter = presenter
        self.holder = holder
        self.intents = intents
    }
}

/// Why a claim is not granted.
package enum CoordinationError: Error, Equatable, Sendable {
    /// Those who hold what it wants wait, in the end, for something that its maker holds: for people, who they are.
    case wouldDeadlock([String])
    case cancelled
    /// There is a claim with this identifier already.
    case duplicate
}
