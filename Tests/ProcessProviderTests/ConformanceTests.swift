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
            #expect(provider.abilities.count == 9, "\(provider.abilities)")
            let report = await ConformanceSuite(provider: provider, otherClient: provider).run()
            #expect(report.isPassed, "\(report)")
            // As for the same store in this process.
            #expect(report.skipped.map(\.rule.number) == [904, 1018, 1019], "\(report)")
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

    @Test("each broken provider breaks its rule over the protocol, and no other", arguments: BrokenProvider.all)
    func broken(_ broken: BrokenProvider) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            component: "hydrant-peer-\(UUID().uuidString.prefix(8))", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let socket = folder.appending(component: "other", directoryHint: .notDirectory).path
        try await Peer.with(["broken", "\(broken.rule)", socket]) { provider in
            try await Peer.with(["join", socket]) { other in
                let report = await ConformanceSuite(
                    provider: provider, otherClient: other, timeLimit: .seconds(60), patience: .seconds(5),
                    cleansUp: false
                ).run()
                #expect(report.failures.map(\.rule.number) == [broken.rule], "\(broken)\n\(report)")
            }
        }
    }
}
