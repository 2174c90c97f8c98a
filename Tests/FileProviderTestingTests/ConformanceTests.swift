import FileProvider
import FileProviderTesting
import Testing

// Serialized: each run is work enough for both cores, and rules have time limits.
@Suite(.serialized) struct ConformanceTests {
    @Test(arguments: [1, 2, 7, 1000])
    func inMemoryProviderKeepsEveryRule(_ pageSize: Int) async throws {
        let provider = InMemoryProvider(pageSize: pageSize, pieceSize: 10_000, features: .all)
        try StoreToRead.fill(provider)
        let before = provider.snapshot()
        provider.disposition = .evict
        let report = await ConformanceSuite(provider: provider, otherClient: provider).run()
        #expect(report.isPassed, "\(report)")
        // 107 has nothing to say of a single page, 904 of a second client that is the first, 1018 of one that writes.
        #expect(
            report.skipped.map(\.rule.number) == (pageSize == 1000 ? [107] : []) + [904, 1018, 1019], "\(report)")
        #expect(report.cleanupProblem == nil)
        #expect(provider.snapshot() == before)
    }

    @Test func faultInjectingProviderWithoutFaultsKeepsEveryRule() async throws {
        // What goes around the wrapper is done by another client, and signalled.
        let base = InMemoryProvider(pageSize: 3, signalsOwnChanges: true, features: .all)
        try StoreToRead.fill(base)
        let before = base.snapshot()
        let report = await ConformanceSuite(provider: FaultInjectingProvider(base), otherClient: base).run()
        #expect(report.isPassed, "\(report)")
        #expect(report.skipped.map(\.rule.number) == [1018, 1019], "\(report)")
        #expect(base.snapshot() == before)
    }

    @Test func whatAStoreNeedNotDoIsSkipped() async {
        let report = await ConformanceSuite(provider: PlainProvider()).run()
        #expect(report.isPassed, "\(report)")
        let skipped = Set(report.skipped.map(\.rule.number))
        let optional = ConformanceSuite.rules.map(\.number).filter {
            [107, 804].contains($0) || (901...905).contains($0) || $0 >= 907
        }
        // Of what is there, in a store that is empty, these have something to say.
        #expect(skipped == Set(optional).subtracting([1001, 1002, 1014, 1701, 1702, 1703, 1704]), "\(report)")
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

    @Test func aStoreThatTakesNoChangesIsTriedOnWhatItHas() async throws {
        let provider = InMemoryProvider(pageSize: 2, features: .all)
        try StoreToRead.fill(provider)
        provider.isReadOnly = true
        let before = provider.snapshot()
        let report = await ConformanceSuite(provider: provider).run()
        #expect(report.isPassed, "\(report)")
        for result in report.results {
            let isSkipped = result.rule.changesTheStore || result.rule.number == 1201
            #expect((result.outcome != .passed) == isSkipped, "\(result.rule.number)")
        }
        #expect(provider.snapshot() == before)
        #expect(provider.calls(of: .createItem).count == 2, "one for rule 1018, one for 1019")
    }

    @Test func aReadOnlyProviderNeedNotDoMoreThanLook() async throws {
        let store = InMemoryProvider(pageSize: 3)
        try StoreToRead.fill(store)
        let report = try await ConformanceSuite.check(MinimalProvider(base: store))
        let passed = Set(report.results.filter { $0.outcome == .passed }.map(\.rule.number))
        #expect(passed == Set([101, 110] + Array(1001...1019)), "\(report)")
    }

    /// It does not say so of itself, and refuses all the same.
    @Test func aStoreThatRefusesEveryCreationIsSkippedNotFailed() async throws {
        let provider = InMemoryProvider()
        try StoreToRead.fill(provider)
        let report = await ConformanceSuite(provider: RefusingProvider(base: provider)).run()
        #expect(report.isPassed, "\(report)")
        #expect(report.skipped.count >= ConformanceSuite.rules.filter(\.changesTheStore).count)
    }

    @Test func hangingProviderFailsInsteadOfHanging() async throws {
        let provider = HangingProvider()
        try provider.base.put("document", "text")
        let rules = ConformanceSuite.rules.filter { [201, 305, 1009].contains($0.number) }
        let report = await ConformanceSuite(provider: provider, rules: rules, timeLimit: .seconds(1)).run()
        #expect(report.failures.map(\.rule.number) == [201, 1009], "\(report)")
    }

    @Test func oneCallThrowsTheReport() async throws {
        let broken = try #require(BrokenProvider.all.first { $0.rule == 303 })
        let provider = try broken.makeStore().provider
        let error = await #expect(throws: ConformanceError.self) { try await ConformanceSuite.check(provider) }
        let text = try #require(error?.description)
        #expect(text.contains("FAILED  303 "))
        #expect(text.contains("1 failed"))
        let report = try await ConformanceSuite.check(InMemoryProvider())
        #expect(report.isPassed && !report.description.contains("FAILED"))
    }

    @Test func numbersAreUniqueAndInOrder() {
        let numbers = ConformanceSuite.rules.map(\.number)
        #expect(numbers == numbers.sorted())
        #expect(Set(numbers).count == numbers.count)
        #expect(numbers.count >= 100)
    }
}

/// What a store has that is to be read.
enum StoreToRead {
    static func fill(_ store: InMemoryProvider) throws {
        try store.put("text", "some text")
        try store.put("empty", "")
        try store.put("one", "1")
        try store.mkdir("folder/inner/empty folder")
        try store.put("folder/inner/large", (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 / 255) })
        try store.link("folder/link", to: "inner")
        try store.put("Größe", "names beyond ASCII")
        try store.put("locked", "nobody may change this")
        try store.setCapabilities(.readOnly, at: "locked")
    }
}

/// Looks and downloads; the SDK refuses the rest for it.
private struct MinimalProvider: ReadOnlyFileProvider {
    let base: InMemoryProvider

    func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        try await base.providePlaceholder(for: identifier)
    }

    func enumerateItems(in folder: ItemIdentifier, startingAt page: Page?) async throws(FileProviderError) -> ItemPage {
        try await base.enumerateItems(in: folder, startingAt: page)
    }

    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
    }
}

/// Refuses creations as read-only, though it does not say that it is.
private struct RefusingProvider: Forwarding {
    let base: InMemoryProvider

    func createItem(_ template: ItemTemplate, contents: (any ContentSource)?) async throws(FileProviderError) -> Item {
        throw FileProviderError(.readOnly, "no")
    }
}

/// Downloads that never end, whoever cancels them.
private struct HangingProvider: Forwarding {
    let base = InMemoryProvider()

    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }
}
