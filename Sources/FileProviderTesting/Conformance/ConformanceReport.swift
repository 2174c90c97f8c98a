/// What became of each rule of a ``ConformanceSuite``.
public struct ConformanceReport: Sendable, CustomStringConvertible {
    /// How the experiment of one rule ended.
    public enum Outcome: Hashable, Sendable {
        /// The provider keeps the rule.
        case passed
        /// It does not, and what was seen.
        case failed(reason: String)
        /// The rule says nothing about this provider: an ability that it need not have, say.
        case skipped(reason: String)
    }

    /// One rule and what became of it.
    public struct Result: Sendable {
        /// The rule that was tried.
        public let rule: ConformanceRule
        /// What became of it.
        public let outcome: Outcome
    }

    /// In the order of the rules.
    public internal(set) var results: [Result] = []
    /// What the suite could not clean up, and why; look at the scratch folder.
    public internal(set) var cleanupProblem: String?

    /// Whether no rule was broken.
    public var isPassed: Bool { failures.isEmpty }

    /// The rules that were broken.
    public var failures: [Result] {
        results.filter { if case .failed = $0.outcome { true } else { false } }
    }

    /// The rules that say nothing about this provider.
    public var skipped: [Result] {
        results.filter { if case .skipped = $0.outcome { true } else { false } }
    }

    /// For people: what failed, a rule and its reason each, what was skipped, by reason, and a summary.
    public var description: String {
        var lines: [String] = []
        for result in results {
            guard case .failed(let reason) = result.outcome else { continue }
            lines.append("FAILED  \(result.rule.number) \(result.rule.title)\n        \(reason)")
        }
        lines += skippedByReason
        if let cleanupProblem { lines.append("not cleaned up: \(cleanupProblem)") }
        let passed = results.count - failures.count - skipped.count
        lines.append("\(passed) passed, \(failures.count) failed, \(skipped.count) skipped")
        return lines.joined(separator: "\n")
    }

    /// One line a reason: a store that takes no changes has one for most of the rules.
    private var skippedByReason: [String] {
        var reasons: [String] = []
        var numbers: [String: [String]] = [:]
        for result in results {
            guard case .skipped(let reason) = result.outcome else { continue }
            if numbers[reason] == nil { reasons.append(reason) }
            numbers[reason, default: []].append("\(result.rule.number)")
        }
        return reasons.map { "skipped \(numbers[$0]?.joined(separator: ", ") ?? ""): \($0)" }
    }
}

/// A provider broke rules; the description is the report.
public struct ConformanceError: Error, Sendable, CustomStringConvertible {
    /// What became of each rule.
    public let report: ConformanceReport
    /// The report, for people.
    public var description: String { "The provider breaks rules of the conformance suite.\n\(report)" }
}
