/// One duty of every provider, with the experiment that checks it.
///
/// Numbers never change their meaning: a rule that goes leaves a gap. The hundreds are groups: 1 looking, 2 downloads,
/// 3 creation, 4 changed contents, 5 moves, 6 deletion, 7 names, 8 several calls at once, 9 metadata, signals and
/// letting go, 10 reading existing items, 11 changes since an anchor, 12 capabilities, 13 copies, 14 trash, 15
/// thumbnails, 16 quota, 17 persistent identifiers, 18 the store's own search.
public struct ConformanceRule: Sendable, Identifiable {
    /// The place of the experiment.
    enum Place: Hashable, Sendable {
        /// In a new folder of its own.
        case ownFolder
        /// On the items that the store has already; the experiment changes nothing.
        case store
    }

    /// The number in reports and documentation.
    public let number: Int
    /// The rule as a sentence.
    public let title: String
    let place: Place
    /// Throws ``RuleFailure`` or ``RuleSkip``; any other error is a failure too.
    let check: @Sendable (ConformanceContext) async throws -> Void

    /// The ``number``.
    public var id: Int { number }

    /// Whether the experiment makes items in the scratch folder. The other rules only look at existing items, and also
    /// run on stores that take no changes.
    public var changesTheStore: Bool { place == .ownFolder }

    init(
        _ number: Int, _ title: String, in place: Place = .ownFolder,
        _ check: @escaping @Sendable (ConformanceContext) async throws -> Void
    ) {
        self.number = number
        self.title = title
        self.place = place
        self.check = check
    }
}

/// The provider broke the rule.
struct RuleFailure: Error, CustomStringConvertible {
    let reason: String
    init(_ reason: String) { self.reason = reason }
    var description: String { reason }
}

/// The rule does not apply to this provider.
struct RuleSkip: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
}
