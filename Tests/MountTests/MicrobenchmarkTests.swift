import Foundation
import MountHarness
import Testing

/// `scripts/microbench` says something of each hot path. How long they take is not looked at.
@Suite("Microbenchmarks")
struct MicrobenchmarkTests {
    private struct Result: Decodable {
        var name: String
        var ours: Double
        var native: Double?
    }

    @Test("each hot path is measured, beside the local file system where it has an equivalent")
    func all() async throws {
        try await withSandbox(.with { $0.limit = 100 }) { mount in
            let program =
                URL(filePath: Sandbox.executable, directoryHint: .notDirectory).deletingLastPathComponent().path
                + "/hydrant-microbench"
            let run = try mount.sandbox.run([program, "--quick", "--json"], limit: 90)
            #expect(run.succeeded, "\(run)")
            let results = try JSONDecoder().decode([Result].self, from: Data(run.stdout.utf8))
            for what in ["lookup", "getattr", "readdirplus", "open", "create", "save"] {
                let result = try #require(results.first { $0.name.hasPrefix(what) }, "\(what)")
                #expect(result.ours > 0 && (result.native ?? 0) > 0, "\(what)")
            }
            for what in ["catalog", "extent map", "PROPFIND"] {
                #expect(results.contains { $0.name.hasPrefix(what) && $0.ours > 0 }, "\(what)")
            }
            let one = try mount.sandbox.run([program, "--quick", "--json", "--only", "getattr"], limit: 90)
            #expect(try JSONDecoder().decode([Result].self, from: Data(one.stdout.utf8)).map(\.name) == ["getattr"])
        }
    }
}
