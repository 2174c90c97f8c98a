package import FileProvider

/// Which deletions in the store are not carried out here before a person agrees: those of more than a share of a domain
/// within a while. A disk that is not plugged in, a wrong account or a client gone wild look like that, and what is
/// downloaded here may then be all that is left.
package struct DeletionHold: Sendable, Equatable, Codable {
    /// More than so many percent of the items that are known here; 100: nothing is ever held.
    package var percent: Double
    /// So many are never held: a small domain would be held for every folder that somebody tidies up.
    package var most: Int
    /// In seconds: what the store deletes within it counts together, however many steps it takes.
    package var window: Double

    package init(percent: Double = 10, most: Int = 20, window: Double = 3_600) {
        self.percent = percent
        self.most = most
        self.window = window
    }

    /// Whether `gone` are too many to go without a question, of `known` items.
    func isExceeded(by gone: Int, of known: Int) -> Bool {
        percent < 100 && gone > most && Double(gone) * 100 > percent * Double(known)
    }
}

/// What is held in a domain.
package struct HeldDeletions: Sendable, Equatable {
    /// Documents, folders and links.
    package var items: Int
    /// Those of them of which not all is here: nobody has that any more.
    package var incomplete: Int
    /// Since when the first of them is held.
    package var since: FileTime
    package init(items: Int, incomplete: Int, since: FileTime) {
        self.items = items
        self.incomplete = incomplete
        self.since = since
    }
}
