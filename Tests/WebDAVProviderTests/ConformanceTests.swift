import FileProvider
import FileProviderTesting
import Foundation
import HTTPTransport
import Logging
import MountHarness
import Testing
import WebDAVHarness
import WebDAVProvider

/// The rules of the suite, against real servers.
@Suite("WebDAV: conformance", .timeLimit(.minutes(10)))
struct ConformanceTests {
    /// WsgiDAV replaces in two steps and keeps no conditions on what is replaced: of several clients in the same moment
    /// more than one, or none, may be told that it was the first. Nextcloud looks at conditions before the bytes come.
    private static let lacking: [ServerKind: Set<Int>] = [.wsgidav: [803, 804], .nextcloud: [804]]

    @Test("every rule holds, with two clients", arguments: ServerKind.allCases.filter { $0 != .radicale })
    func rules(_ kind: ServerKind) async throws {
        let lacking = Self.lacking[kind] ?? []
        try await withServer(kind, kind == .wsgidav ? ServerOptions() : .usual) { server in
            // So that it also signals.
            if kind == .nextcloud { try server.tell("capabilities", #"{"notify_push": true}"#) }
            let provider = try server.provider()
            let other = try server.provider()
            let rules = ConformanceSuite.rules.filter { !lacking.contains($0.number) }
            let report = await ConformanceSuite(provider: provider, otherClient: other, rules: rules).run()
            await provider.invalidate()
            await other.invalidate()
            #expect(report.isPassed, "\(report)")
        }
    }

    /// `HYDRANT_TEST_WEBDAV` is the URL of an empty folder on a server of yours, with user and password:
    /// `https://ada:secret@cloud.example.org/remote.php/dav/files/ada/try/`. What the suite makes there goes again.
    @Test("every rule holds on a server that you name", .enabled(if: named != nil))
    func ownServer() async throws {
        let parts = try #require(Self.named)
        let (provider, other) = (try Self.provider(parts), try Self.provider(parts))
        let report = await ConformanceSuite(provider: provider, otherClient: other).run()
        await provider.invalidate()
        await other.invalidate()
        print(report)
        #expect(report.isPassed, "\(report)")
    }

    private static let named = ProcessInfo.processInfo.environment["HYDRANT_TEST_WEBDAV"].flatMap(URLComponents.init)

    private static func provider(_ parts: URLComponents) throws -> WebDAVProvider {
        var plain = parts
        (plain.user, plain.password) = (nil, nil)
        let root = try #require(plain.string.flatMap { HTTPLocation($0) })
        let credential = Credential.basic(user: parts.user ?? "", password: Secret(parts.password ?? ""))
        return try WebDAVProvider(
            root: root, credentials: FixedCredential(credential),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
}
