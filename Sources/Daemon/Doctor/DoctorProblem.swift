import FileProvider
import ItemCatalog
import Trees

/// One problem: the place, the problem, its consequence and its remedy.
package struct DoctorProblem: Sendable, Equatable {
    /// Bytes that existed nowhere else are gone.
    package var isLoss = false
    package var place: String
    package var what: String
    package var meaning: String
    var repair: Repair?
    /// Set by a repair: success, or the reason for a failure.
    package var outcome: Outcome?

    init(isLoss: Bool = false, place: String, what: String, meaning: String, repair: Repair?) {
        (self.isLoss, self.place, self.what, self.meaning, self.repair) = (isLoss, place, what, meaning, repair)
    }

    /// A problem that only a person can solve.
    package init(isLoss: Bool = false, place: String, what: String, meaning: String) {
        self.init(isLoss: isLoss, place: place, what: what, meaning: meaning, repair: nil)
    }

    package enum Outcome: Sendable, Equatable {
        case done
        case failed(String)
    }

    /// The safe repairs: none deletes bytes that might be the only copy.
    enum Repair: Sendable, Equatable {
        case catalog(CatalogFinding.Repair)
        /// Makes the document a placeholder again; the file at the path, if there is one, is put aside.
        case evict(InodeID, String?)
        case putAside(String)
        case relistFolder(ItemID)
    }

    /// For people: what `--repair` would do or has done.
    package var remedy: String {
        let (would, did) = remedies
        switch outcome {
        case nil: return would.isEmpty ? "--repair cannot fix it" : "--repair \(would)"
        case .done: return "repaired: \(did)"
        case .failed(let why): return "not repaired: \(why)"
        }
    }

    private var remedies: (would: String, did: String) {
        switch repair {
        case nil: ("", "")
        case .catalog(.setLinkCount(_, let count)): ("sets the link count to \(count)", "the link count is \(count)")
        case .evict(_, nil): ("makes it a placeholder, which is downloaded again", "it is a placeholder")
        case .evict:
            ("puts the file aside and makes it a placeholder", "the file is put aside, and it is a placeholder")
        case .putAside: ("moves it to content/lost+found", "moved to content/lost+found")
        case .relistFolder: ("lists its folder again at the next mount", "its folder is listed again at the next mount")
        }
    }
}

extension DoctorProblem {
    init(_ finding: CatalogFinding) {
        self.init(
            place: finding.place, what: finding.what, meaning: finding.rule.meaning,
            repair: finding.repair.map { .catalog($0) })
    }
}
