package import FileProvider

/// Deletions in the store that are carried out here only after a person agrees: those of more than a share of a domain
/// within a time window. A disk that is not plugged in, a wrong account or a faulty client look like that, and the
/// downloaded bytes may then be the only ones left.
package struct DeletionHold: Sendable, Equatable, Codable {
    /// Hold deletions of more than this percentage of the items known here; 100: never hold.
    package var percent: Double
    /// Never hold this many or fewer: in a small domain every deleted folder would be held.
    package var most: Int
    /// In seconds: deletions of the store within this time count together, however many steps they take.
    package var window: Double

    package init(percent: Double = 10, most: Int = 20, window: Double = 3_600) {
        self.percent = percent
        self.most = most
        self.window = window
    }

    /// Whether deleting `gone` of `known` items needs a person's agreement.
    func isExceeded(by gone: Int, of known: Int) -> Bool {
        percent < 100 && gone > most && Double(gone) * 100 > percent * Double(known)
    }
}

/// The held deletions of a domain.
package struct HeldDeletions: Sendable, Equatable {
    /// Documents, folders and links.
    package var items: Int
    /// Held items with missing bytes: nobody has those bytes any more.
    package var incomplete: Int
    /// When the oldest of these deletions was held.
    package var since: FileTime
    package init(items: Int, incomplete: Int, since: FileTime) {
        self.items = items
        self.incomplete = incomplete
        self.since = since
    }
}
