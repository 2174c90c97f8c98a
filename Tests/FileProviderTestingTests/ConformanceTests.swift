import FileProvider
import FileProviderTesting
import Testing

// Serialized: each run is work enough for both cores, and rules have time limits.
@Suite(.serialized) struct ConformanceTests {
    @Test(arguments: [1, 2, 7, 1000])
    func inMemoryProviderKeepsEveryRule(_ pageSize: Int) async {
        let provider = InMemoryProvider(pageSize: pageSize, pieceSize: 10_000)
        provider.disposition = .evict
        let report = await ConformanceSuite(provider: provider, otherClient: provider).run()
        #expect(report.isPassed, "\(report)")
        // 107 has nothing to say of a single page, 904 of a second client that is the first.
        #expect(report.skipped.map(\.rule.number) == (pageSize == 1000 ? [107, 904] : [904]), "\(report)")
        #expect(report.cleanupProblem == nil)
        #expect(provider.snapshot().isEmpty)
    }

    @Test func faultInjectingProviderWithoutFaultsKeepsEveryRule() async {
        // What goes around the wrapper is done by another client, and signalled.
        let base = InMemoryProvider(pageSize: 3, signalsOwnChanges: true)
        let report = await ConformanceSuite(provider: FaultInjectingProvider(base), otherClient: base).run()
        #expect(report.isPassed && report.skipped.isEmpty, "\(report)")
        #expect(base.snapshot().isEmpty)
    }

    @Test func onlyTheScratchFolderIsTouched() async throws {
        let provider = InMemoryProvider()
        try provider.put("mine/document", "precious")
        let scratch = try provider.mkdir("scratch")
        let before = provider.snapshot()
        provider.forgetCalls()
        let report = await ConformanceSuite(provider: provider, scratchFolder: scratch.identifier).run()
        #expect(report.isPassed, "\(report)")
        #expect(provider.snapshot() == before)
        let mine = try #require(provider.item(at: "mine"))
        #expect(!provider.calls.contains { $0.identifier == mine.identifier })
    }

    @Test(arguments: BrokenProvider.all)
    func brokenProviderFailsItsRules(_ broken: BrokenProvider) async {
        let suite = ConformanceSuite(provider: broken.provider, timeLimit: .seconds(30))
        let report = await suite.run()
        #expect(Set(report.failures.map(\.rule.number)) == broken.rules, "\(report)")
    }

    @Test func hangingProviderFailsInsteadOfHanging() async {
        var provider = OverridingProvider()
        provider.download = { _, _, _, _, _ async throws(FileProviderError) in
            // Heeds no cancellation.
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        }
        let rules = ConformanceSuite.rules.filter { $0.number == 201 || $0.number == 305 }
        let report = await ConformanceSuite(provider: provider, rules: rules, timeLimit: .seconds(2)).run()
        #expect(report.failures.map(\.rule.number) == [201], "\(report)")
    }

    @Test func readOnlyStoreIsSkippedNotFailed() async {
        var provider = OverridingProvider()
        provider.create = { _, _, _ async throws(FileProviderError) in
            throw FileProviderError(.readOnly, "no")
        }
        let report = await ConformanceSuite(provider: provider).run()
        #expect(report.isPassed)
        #expect(report.skipped.count == ConformanceSuite.rules.count)
    }

    @Test func numbersAreUniqueAndInOrder() {
        let numbers = ConformanceSuite.rules.map(\.number)
        #expect(numbers == numbers.sorted())
        #expect(Set(numbers).count == numbers.count)
        #expect(numbers.count >= 50)
    }
}
