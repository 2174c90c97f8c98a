import FileProvider
import FileProviderTesting
import Testing

/// The proof of the conformance suite: each rule is failed by exactly one broken provider, and each of these fails its
/// own rule and no other.
@Suite struct BrokenProviderTests {
    @Test(arguments: BrokenProvider.all)
    func itFailsItsRuleAndNoOther(_ broken: BrokenProvider) async throws {
        let (provider, otherClient) = try broken.makeStore()
        let suite = ConformanceSuite(
            provider: provider, otherClient: otherClient, timeLimit: .seconds(60), patience: .seconds(5),
            cleansUp: false)
        let report = await suite.run()
        #expect(report.failures.map(\.rule.number) == [broken.rule], "\(broken)\n\(report)")
    }

    @Test func everyRuleHasOne() {
        #expect(BrokenProvider.all.map(\.rule) == ConformanceSuite.rules.map(\.number))
        #expect(Set(BrokenProvider.all.map(\.fault)).count == BrokenProvider.all.count)
    }

    /// Without its fault the store keeps every rule: what fails is the fault, not the store.
    @Test func twoStoresShareNothing() async throws {
        let broken = try #require(BrokenProvider.all.first { $0.rule == 1001 })
        let (first, second) = (try broken.makeStore().provider, try broken.makeStore().provider)
        let item = try #require(try await first.enumerateItems(in: .rootContainer, startingAt: nil).items.first)
        #expect(try await second.providePlaceholder(for: item.identifier).filename == item.filename)
        #expect(first.isReadOnly && second.isReadOnly)
    }
}
