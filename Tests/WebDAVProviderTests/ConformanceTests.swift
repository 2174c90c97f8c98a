import FileProvider
import FileProviderTesting
import MountHarness
import Testing
import WebDAVHarness
import WebDAVProvider

/// The rules of the suite, against real servers.
@Suite("WebDAV: conformance", .serialized, .timeLimit(.minutes(10)))
struct ConformanceTests {
    /// WsgiDAV replaces in two steps and keeps no conditions on what is replaced: of several clients in the same moment
    /// more than one, or none, may be told that it was the first.
    private static let lacking: [ServerKind: Set<Int>] = [.wsgidav: [803, 804]]

    @Test("every rule holds, with two clients", arguments: ServerKind.allCases)
    func rules(_ kind: ServerKind) async throws {
        let lacking = Self.lacking[kind] ?? []
        try await withServer(kind, kind == .wsgidav ? ServerOptions() : .usual) { server in
            let provider = try server.provider()
            let other = try server.provider()
            let rules = ConformanceSuite.rules.filter { !lacking.contains($0.number) }
            let report = await ConformanceSuite(provider: provider, otherClient: other, rules: rules).run()
            await provider.invalidate()
            await other.invalidate()
            #expect(report.isPassed, "\(report)")
        }
    }
}
