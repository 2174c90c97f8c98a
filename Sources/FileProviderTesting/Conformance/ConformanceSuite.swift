public import FileProvider

/// Holds a provider to the contract of ``FileProviderExtension``, by experiments on a store of its own or in
/// a scratch folder.
///
/// ```swift
/// let report = await ConformanceSuite(provider: MyProvider()).run()
/// #expect(report.isPassed, "\(report)")
/// ```
///
/// Everything happens in new folders in the scratch folder, one for each rule; nothing else is touched.
public struct ConformanceSuite: Sendable {
    /// Every rule there is, by number.
    public static let rules: [ConformanceRule] = [
        lookingRules, downloadRules, creationRules, changeRules, moveRules, deletionRules, nameRules,
        concurrencyRules, abilityRules,
    ].flatMap { (group: [ConformanceRule]) -> [ConformanceRule] in group }

    private let provider: any FileProviderExtension
    private let otherClient: (any FileProviderExtension)?
    private let scratchFolder: ItemIdentifier
    private let rules: [ConformanceRule]
    private let timeLimit: Duration
    private let cleansUp: Bool

    /// - Parameters:
    ///   - otherClient: a second way to the same store, with the same identifiers and the same scratch
    ///     folder (a second instance of the provider, or the same one if it can serve two clients). Without
    ///     it the rules about two clients are skipped.
    ///   - scratchFolder: where the experiments take place.
    ///   - rules: those to be tried.
    ///   - timeLimit: how long one rule may take before it counts as broken.
    ///   - cleansUp: whether what was made is deleted again, through the provider.
    public init(
        provider: any FileProviderExtension, otherClient: (any FileProviderExtension)? = nil,
        scratchFolder: ItemIdentifier = .rootContainer, rules: [ConformanceRule] = Self.rules,
        timeLimit: Duration = .seconds(60), cleansUp: Bool = true
    ) {
        self.provider = provider
        self.otherClient = otherClient
        self.scratchFolder = scratchFolder
        self.rules = rules
        self.timeLimit = timeLimit
        self.cleansUp = cleansUp
    }

    /// Tries the rules one after another.
    public func run() async -> ConformanceReport {
        var report = ConformanceReport()
        let base = context(in: scratchFolder)
        let runFolder: Item
        do {
            let name = Filename("hydrant-conformance-\(UInt32.random(in: 0 ... .max))")
            runFolder = try await limited { try await base.makeFolder(name) }
        } catch {
            // Every experiment needs a folder of its own; a store that takes no changes has none.
            let outcome = Self.outcome(of: error)
            report.results = rules.map { .init(rule: $0, outcome: outcome) }
            return report
        }
        for rule in rules {
            report.results.append(.init(rule: rule, outcome: await run(rule, in: runFolder)))
        }
        if cleansUp {
            do {
                try await limited { try await base.removeTree(runFolder) }
            } catch {
                report.cleanupProblem = "\(runFolder.filename): \(error)"
            }
        }
        return report
    }

    private func run(_ rule: ConformanceRule, in runFolder: Item) async -> ConformanceReport.Outcome {
        let parent = context(in: runFolder.identifier)
        do {
            try await limited {
                let folder = try await parent.makeFolder(Filename("rule-\(rule.number)"))
                try await rule.check(context(in: folder.identifier))
            }
            return .passed
        } catch {
            return Self.outcome(of: error)
        }
    }

    private func context(in folder: ItemIdentifier) -> ConformanceContext {
        ConformanceContext(provider: provider, otherClient: otherClient, folder: folder)
    }

    private func limited<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withTimeLimit(
            timeLimit, error: { [timeLimit] in RuleFailure("It did not end within \(timeLimit).") }, body: body)
    }

    private static func outcome(of error: any Error) -> ConformanceReport.Outcome {
        switch error {
        case let skip as RuleSkip: .skipped(reason: skip.reason)
        case let failure as RuleFailure: .failed(reason: failure.reason)
        default: .failed(reason: "unexpected error: \(error)")
        }
    }
}
