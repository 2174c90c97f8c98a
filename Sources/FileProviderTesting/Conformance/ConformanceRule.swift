/// One thing that every provider must do, with the experiment that shows it.
///
/// Numbers never change their meaning: a rule that goes leaves a gap. The hundreds are groups: 1 looking,
/// 2 downloads, 3 creation, 4 changed contents, 5 moves, 6 deletion, 7 names, 8 several calls at once,
/// 9 optional abilities.
public struct ConformanceRule: Sendable, Identifiable {
    public let number: Int
    /// The rule as a sentence.
    public let title: String
    /// Throws ``RuleFailure`` or ``RuleSkip``; any other error is a failure too.
    let check: @Sendable (ConformanceContext) async throws -> Void

    public var id: Int { number }

    init(_ number: Int, _ title: String, _ check: @escaping @Sendable (ConformanceContext) async throws -> Void) {
        self.number = number
        self.title = title
        self.check = check
    }
}

/// The provider broke the rule.
struct RuleFailure: Error, CustomStringConvertible {
    let reason: String
    init(_ reason: String) { self.reason = reason }
    var description: String { reason }
}

/// The rule says nothing about this provider.
struct RuleSkip: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
}
