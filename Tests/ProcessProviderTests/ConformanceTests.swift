import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import ProcessProvider
import Testing

/// The provider protocol keeps what the SDK promises: the rules of the conformance suite hold, and are broken, over it.
@Suite("Conformance over the provider protocol", .serialized)
struct ConformanceTests {
    @Test("a store with every ability keeps every rule in another process")
    func memory() async throws {
        let files = ["a.txt=one", "b.txt=two", "c.txt=three", "d.txt=four", "e.txt=five"]
        try await Peer.with(["memory"] + files) { provider in
            #expect(provider.abilities.count == 13, "\(provider.abilities)")
            let report = await ConformanceSuite(provider: provider, otherClient: provider).run()
            #expect(report.isPassed, "\(report)")
            // As for the same store in this process.
            #expect(report.skipped.map(\.rule.number) == [904, 1018, 1019, 1201], "\(report)")
            #expect(report.cleanupProblem == nil)
            let items = try await Peer.items(provider)
            #expect(items.count == 5)
        }
    }

    @Test("what the program does not say that it can do, the suite does not ask for")
    func plain() async throws {
        try await Peer.with(["plain"]) { provider in
            #expect(provider.abilities.isEmpty)
            let report = await ConformanceSuite(provider: provider).run()
            #expect(report.isPassed, "\(report)")
            let skipped = Set(report.skipped.map { $0.rule.number / 100 })
            #expect(skipped.isSuperset(of: [11, 13, 14, 15, 16, 18]), "\(report)")
        }
    }

    /// Faults that cannot get through: Hydrant's side of the protocol answers for the sink, a cancellation and the
    /// stream of signals itself.
    private static let keptByHydrant: Set<Int> = [206, 805, 905, 1016, 1017]
    /// Faults of timing within one process: the time that messages take is enough for the store to be right again.
    private static let lostOnTheWay: Set<Int> = [804, 806]
    /// Faults that break other rules too, as Hydrant's side is stricter: a byte outside of the range fails a download, and
    /// the contents of a cancelled upload cannot be read.
    private static let breakMore: Set<Int> = [203, 309, 1012]

    /// Beside its own rule only those of its group are checked: all of them, for each fault, take ten minutes. They are
    /// where `HYDRANT_ALL_RULES` is set.
    @Test("each broken provider breaks its rule over the protocol, and no other", arguments: BrokenProvider.all)
    func broken(_ broken: BrokenProvider) async throws {
        let checksAll = ProcessInfo.processInfo.environment["HYDRANT_ALL_RULES"] != nil
        let rules = ConformanceSuite.rules.filter { checksAll || $0.number / 100 == broken.rule / 100 }
        let folder = FileManager.default.temporaryDirectory.appending(
            component: "hydrant-peer-\(UUID().uuidString.prefix(8))", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let socket = folder.appending(component: "other", directoryHint: .notDirectory).path
        try await Peer.with(["broken", "\(broken.rule)", socket]) { provider in
            try await Peer.with(["join", socket]) { other in
                let report = await ConformanceSuite(
                    provider: provider, otherClient: other, rules: rules, timeLimit: .seconds(60),
                    patience: .seconds(5), cleansUp: false
                ).run()
                let found = report.failures.map(\.rule.number)
                if Self.keptByHydrant.contains(broken.rule) {
                    #expect(found.isEmpty, "\(broken)\n\(report)")
                } else if Self.breakMore.contains(broken.rule) {
                    #expect(found.contains(broken.rule), "\(broken)\n\(report)")
                } else if Self.lostOnTheWay.contains(broken.rule) {
                    #expect(found.isEmpty || found == [broken.rule], "\(broken)\n\(report)")
                } else {
                    #expect(found == [broken.rule], "\(broken)\n\(report)")
                }
            }
        }
    }
}
