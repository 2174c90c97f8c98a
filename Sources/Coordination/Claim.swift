/// Identifies a claim in all daemons.
package struct ClaimID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
    package var description: String { rawValue }
    package static func < (left: ClaimID, right: ClaimID) -> Bool { left.rawValue < right.rawValue }
}

/// The subject of a claim or a presenter. A rename of the item does not change it.
package enum ClaimSubject: Hashable, Sendable {
    /// An item, by its number in the catalog.
    case item(Int64)
    /// A file that is not an item, by its inode.
    case file(Int64)
    /// A name that does not exist, in the folder with this inode.
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

    /// Whether the other target is the same, or in this one.
    package func covers(_ other: ClaimTarget) -> Bool { subject == other.subject || other.above.contains(subject) }
}

/// The intended access to one item.
package struct ClaimIntent: Hashable, Sendable {
    package enum Access: Hashable, Sendable {
        /// - Parameter savesFirst: ask presenters to save their changes first.
        case reading(savesFirst: Bool)
        case writing(savesFirst: Bool, deletes: Bool)
    }
    package var subject: ClaimSubject
    /// The subject when the item is gone: a name, so that the claim covers a new item with the old name.
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

/// A request to read or write items while nobody else uses them.
package struct Claim: Sendable {
    package let id: ClaimID
    /// Claims of one purpose do not exclude each other.
    package let purpose: String
    /// Claims that this one's maker holds until this one ends.
    package let within: Set<ClaimID>
    /// The presenter for which the claim is made.
    package let presenter: PresenterID?
    /// The maker's name, for people.
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

/// The reason why a claim is not granted.
package enum CoordinationError: Error, Equatable, Sendable {
    /// The holders of the wanted items wait, directly or indirectly, for a claim of this one's maker. Holders' names,
    /// for people.
    case wouldDeadlock([String])
    case cancelled
    /// There is a claim with this identifier already.
    case duplicate
}
