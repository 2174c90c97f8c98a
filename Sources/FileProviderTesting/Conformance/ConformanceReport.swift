/// What became of each rule of a ``ConformanceSuite``.
public struct ConformanceReport: Sendable, CustomStringConvertible {
    public enum Outcome: Hashable, Sendable {
        case passed
        case failed(reason: String)
        /// The rule says nothing about this provider: an ability that it need not have, say.
        case skipped(reason: String)
    }

    public struct Result: Sendable {
        public let rule: ConformanceRule
        public let outcome: Outcome
    }

    /// In the order of the rules.
    public internal(set) var results: [Result] = []
    /// What the suite could not clean up, and why; look at the scratch folder.
    public internal(set) var cleanupProblem: String?

    /// Whether no rule was broken.
    public var isPassed: Bool { failures.isEmpty }

    public var failures: [Result] {
        results.filter { if case .failed = $0.outcome { true } else { false } }
    }

    public var skipped: [Result] {
        results.filter { if case .skipped = $0.outcome { true } else { false } }
    }

    /// For people: what failed and what was skipped, a line each, and a summary.
    public var description: String {
        var lines: [String] = results.compactMap { result in
            switch result.outcome {
            case .passed: nil
            case .failed(let reason): "FAILED  \(result.rule.number) \(result.rule.title)\n        \(reason)"
            case .skipped(let reason): "skipped \(result.rule.number) \(result.rule.title)\n        \(reason)"
            }
        }
        if let cleanupProblem { lines.append("not cleaned up: \(cleanupProblem)") }
        let passed = results.count - failures.count - skipped.count
        lines.append("\(passed) passed, \(failures.count) failed, \(skipped.count) skipped")
        return lines.joined(separator: "\n")
    }
}
