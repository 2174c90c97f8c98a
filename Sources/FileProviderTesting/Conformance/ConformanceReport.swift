/// The outcome of each rule of a ``ConformanceSuite``.
public struct ConformanceReport: Sendable, CustomStringConvertible {
    /// The outcome of one rule.
    public enum Outcome: Hashable, Sendable {
        /// The provider keeps the rule.
        case passed
        /// The provider breaks the rule; the reason is what was observed.
        case failed(reason: String)
        /// The rule does not apply to this provider: it concerns an optional ability, say.
        case skipped(reason: String)
    }

    /// One rule and its outcome.
    public struct Result: Sendable {
        /// The rule.
        public let rule: ConformanceRule
        /// The outcome.
        public let outcome: Outcome
    }

    /// In the order of the rules.
    public internal(set) var results: [Result] = []
    /// The items that the suite could not delete, and why; look at the scratch folder.
    public internal(set) var cleanupProblem: String?

    /// Whether no rule was broken.
    public var isPassed: Bool { failures.isEmpty }

    /// The rules that were broken.
    public var failures: [Result] {
        results.filter { if case .failed = $0.outcome { true } else { false } }
    }

    /// The rules that do not apply to this provider.
    public var skipped: [Result] {
        results.filter { if case .skipped = $0.outcome { true } else { false } }
    }

    /// For people: each broken rule with its reason, the skipped rules by reason, and a summary.
    public var description: String {
        var lines: [String] = []
        for result in results {
            guard case .failed(let reason) = result.outcome else { continue }
            lines.append("FAILED  \(result.rule.number) \(result.rule.title)\n        \(reason)")
        }
        lines += skippedByReason
        if let cleanupProblem { lines.append("cannot clean up: \(cleanupProblem)") }
        let passed = results.count - failures.count - skipped.count
        lines.append("\(passed) passed, \(failures.count) failed, \(skipped.count) skipped")
        return lines.joined(separator: "\n")
    }

    /// One line per reason: a store that takes no changes has one reason for most of the rules.
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
    /// The outcome of each rule.
    public let report: ConformanceReport
    /// The report, for people.
    public var description: String { "the provider breaks rules of the conformance suite\n\(report)" }
}
