import FileProvider
import MountHarness
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// How many documents go to a server at once.
@Suite("WebDAV: distance", .timeLimit(.minutes(10)))
struct DistanceTests {
    /// (That it is fewer where it is near, no test can tell on a machine that has other things to do.)
    @Test(
        "a distant Apache gets more uploads at once, other servers do not",
        arguments: [(ServerKind.apache, 48), (.nextcloud, 6), (.rclone, 16)])
    func far(_ kind: ServerKind, _ count: Int) async throws {
        var options = ServerOptions()
        options.wantsPassword = kind == .nextcloud
        try await withServer(kind, options) { server in
            let proxy = try FaultProxy(to: server)
            defer { proxy.end() }
            let provider = try server.provider(at: "http://localhost:\(proxy.port)\(server.path)")
            #expect(provider.uploadsAtOnce == 16)
            proxy.inject(.late(0.05), into: "OPTIONS", times: 9)
            _ = try await provider.probe.traits()
            #expect(provider.uploadsAtOnce == count)
            await provider.invalidate()
        }
    }
}
