public import FileProvider

/// Checks a provider against the contract of `FileProviderExtension`, by experiments on a store of its own or in a
/// scratch folder.
///
/// ```swift
/// let report = await ConformanceSuite(provider: MyProvider()).run()
/// print(report)
/// ```
///
/// or, in a test that fails with the report when a rule is broken:
///
/// ```swift
/// @Test func keepsTheRules() async throws { try await ConformanceSuite.check(MyProvider()) }
/// ```
///
/// The suite looks at and downloads what the scratch folder already has, within bounds, and never changes it; on a
/// store that takes no changes it does nothing else. On other stores every rule that needs a folder gets a new one in
/// the scratch folder. The suite touches nothing outside the scratch folder.
public struct ConformanceSuite: Sendable {
    /// All rules, by number.
    public static let rules: [ConformanceRule] = [
        listingRules, downloadRules, creationRules, changeRules, moveRules, deletionRules, nameRules,
        concurrencyRules, metadataRules, attributeRules, walkRules, readingRules, refusalRules, anchorRules,
        capabilityRules, copyRules, trashRules, thumbnailRules, quotaRules, domainRules,
        searchRules, favoriteRules, linkRules, versionRules,
    ].flatMap { (group: [ConformanceRule]) -> [ConformanceRule] in group }

    private let provider: any FileProviderExtension
    private let otherClient: (any FileProviderExtension)?
    private let scratchFolder: ItemIdentifier
    private let rules: [ConformanceRule]
    private let timeLimit: Duration
    private let patience: Duration
    private let cleansUp: Bool

    /// - Parameters:
    ///   - provider: the provider to check.
    ///   - otherClient: a second client of the same store, with the same identifiers and the same scratch folder (a
    ///     second instance of the provider, or the same one if it can serve two clients). Without it the suite skips
    ///     the rules about two clients.
    ///   - scratchFolder: the folder for the experiments, whose items are also looked at.
    ///   - rules: the rules to check.
    ///   - timeLimit: how long one rule may take before it counts as broken.
    ///   - patience: the time limit for a signal to arrive, and for a cancelled call to end.
    ///   - cleansUp: whether the suite deletes what it made, through the provider.
    public init(
        provider: any FileProviderExtension, otherClient: (any FileProviderExtension)? = nil,
        scratchFolder: ItemIdentifier = .rootContainer, rules: [ConformanceRule] = Self.rules,
        timeLimit: Duration = .seconds(60), patience: Duration = .seconds(15), cleansUp: Bool = true
    ) {
        self.provider = provider
        self.otherClient = otherClient
        self.scratchFolder = scratchFolder
        self.rules = rules
        self.timeLimit = timeLimit
        self.patience = patience
        self.cleansUp = cleansUp
    }

    /// Checks every rule, and throws a ``ConformanceError`` with the whole report when one is broken; parameters as for
    /// ``init(provider:otherClient:scratchFolder:rules:timeLimit:patience:cleansUp:)``.
    ///
    /// - Returns: the report of a provider that broke no rule: it lists what was skipped.
    @discardableResult
    public static func check(
        _ provider: any FileProviderExtension, otherClient: (any FileProviderExtension)? = nil,
        scratchFolder: ItemIdentifier = .rootContainer
    ) async throws(ConformanceError) -> ConformanceReport {
        let suite = ConformanceSuite(provider: provider, otherClient: otherClient, scratchFolder: scratchFolder)
        let report = await suite.run()
        guard report.isPassed else { throw ConformanceError(report: report) }
        return report
    }

    /// Checks the rules one after another: first those that only look, then those that need a folder of their own.
    ///
    /// First it calls `beginServing` as a mount does, with a domain that exists for the suite only.
    public func run() async -> ConformanceReport {
        var outcomes: [Int: ConformanceReport.Outcome] = [:]
        do {
            try await limited { [provider] in try await provider.beginServing(ScratchDomain(of: provider)) }
        } catch {
            var report = ConformanceReport()
            let outcome = ConformanceReport.Outcome.failed(reason: "the provider cannot be served: \(error)")
            report.results = rules.map { .init(rule: $0, outcome: outcome) }
            return report
        }
        let reading = rules.filter { $0.place == .store }
        if !reading.isEmpty {
            let context = await surveyed()
            for rule in reading { outcomes[rule.number] = await run(rule, in: context) }
        }
        var report = ConformanceReport()
        let writing = rules.filter { $0.place == .ownFolder }
        if !writing.isEmpty {
            let (more, problem) = await runInFolders(writing)
            outcomes.merge(more) { $1 }
            report.cleanupProblem = problem
        }
        report.results = rules.compactMap { rule in outcomes[rule.number].map { .init(rule: rule, outcome: $0) } }
        return report
    }

    /// A domain without a mount, as the suite gives to the provider.
    package static func unmountedDomain(of provider: any FileProviderExtension) -> any FileProviderDomain {
        ScratchDomain(of: provider)
    }

    /// The scratch folder, with a survey of its items.
    private func surveyed() async -> ConformanceContext {
        var context = context(in: scratchFolder)
        do {
            let bare = context
            context.survey = try await limited { try await StoreSurvey(of: bare) }
        } catch {
            // Rule 1001 reports it; the other rules have nothing to look at.
            context.surveyProblem = "\(error)"
        }
        return context
    }

    private func runInFolders(
        _ rules: [ConformanceRule]
    ) async -> (outcomes: [Int: ConformanceReport.Outcome], cleanupProblem: String?) {
        let base = context(in: scratchFolder)
        let runFolder: Item
        do {
            if provider.isReadOnly { throw RuleSkip("the store takes no changes") }
            let name = Filename("hydrant-conformance-\(UInt32.random(in: 0 ... .max))")
            runFolder = try await limited { try await base.makeFolder(name) }
        } catch {
            // Every experiment needs a folder of its own, which a store that takes no changes cannot have.
            let outcome = Self.outcome(of: error)
            return (Dictionary(uniqueKeysWithValues: rules.map { ($0.number, outcome) }), nil)
        }
        var outcomes: [Int: ConformanceReport.Outcome] = [:]
        for rule in rules { outcomes[rule.number] = await run(rule, inFolderIn: runFolder) }
        guard cleansUp else { return (outcomes, nil) }
        do {
            try await limited { try await base.removeTree(runFolder) }
        } catch {
            return (outcomes, "\(runFolder.filename): \(error)")
        }
        return (outcomes, nil)
    }

    private func run(_ rule: ConformanceRule, inFolderIn runFolder: Item) async -> ConformanceReport.Outcome {
        let parent = context(in: runFolder.identifier)
        do {
            let folder = try await limited { try await parent.makeFolder(Filename("rule-\(rule.number)")) }
            return await run(rule, in: context(in: folder.identifier))
        } catch {
            return Self.outcome(of: error)
        }
    }

    private func run(_ rule: ConformanceRule, in context: ConformanceContext) async -> ConformanceReport.Outcome {
        do {
            try await limited { try await rule.check(context) }
            return .passed
        } catch {
            return Self.outcome(of: error)
        }
    }

    private func context(in folder: ItemIdentifier) -> ConformanceContext {
        ConformanceContext(provider: provider, otherClient: otherClient, folder: folder, patience: patience)
    }

    private func limited<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withTimeLimit(
            timeLimit, error: { [timeLimit] in RuleFailure("it did not end within \(timeLimit)") }, body: body)
    }

    private static func outcome(of error: any Error) -> ConformanceReport.Outcome {
        switch error {
        case let skip as RuleSkip: .skipped(reason: skip.reason)
        case let failure as RuleFailure: .failed(reason: failure.reason)
        default: .failed(reason: "unexpected error: \(error)")
        }
    }
}
