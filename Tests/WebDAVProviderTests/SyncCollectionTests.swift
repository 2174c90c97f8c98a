import FileProvider
import Foundation
import MountHarness
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// A server that tells what has changed in a folder since (RFC 6578) is asked for that, and for no listing.
@Suite("WebDAV: sync-collection") struct SyncCollectionTests {
    private func card(_ name: String) -> String {
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:\(name)\r\nFN:\(name)\r\nN:\(name);;;;\r\nEND:VCARD\r\n"
    }

    private func withCards(
        _ names: [String], _ body: (TestServer, FaultProxy, WebDAVProvider) async throws -> Void
    ) async throws {
        var options = ServerOptions()
        options.wantsPassword = true
        try await withServer(.radicale, options) { server in
            for name in names { try Seeding(server.root).file(name + ".vcf", card(name)) }
            let proxy = try FaultProxy(to: server)
            defer { proxy.end() }
            let provider = try server.provider(at: "http://127.0.0.1:\(proxy.port)\(server.path)")
            try await body(server, proxy, provider)
            await provider.invalidate()
        }
    }

    /// By name, what a listing brings.
    private func list(_ provider: WebDAVProvider) async throws -> [String: ItemVersion] {
        let items = try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items
        return Dictionary(uniqueKeysWithValues: items.map { ($0.filename.string, $0.version) })
    }

    private func methods(_ proxy: FaultProxy, after count: Int) -> [String] {
        proxy.requests.dropFirst(count).map { String($0.prefix { $0 != " " }) }.sorted()
    }

    @Test func onlyWhatHasChangedIsAskedFor() async throws {
        try await withCards(["a", "b", "c"]) { server, proxy, provider in
            let before = try await list(provider)
            #expect(before.keys.sorted() == ["a.vcf", "b.vcf", "c.vcf"])
            var count = proxy.requests.count
            #expect(try await list(provider) == before)
            #expect(methods(proxy, after: count) == ["REPORT"])
            let store = Seeding(server.root)
            try RealFileSystem(root: server.root).unlink("a.vcf")
            try store.file("b.vcf", card("b changed"))
            try store.file("new.vcf", card("new"))
            count = proxy.requests.count
            let after = try await list(provider)
            #expect(after.keys.sorted() == ["b.vcf", "c.vcf", "new.vcf"])
            #expect(after["b.vcf"] != before["b.vcf"] && after["c.vcf"] == before["c.vcf"])
            // Of the one that is gone as well: it may be there again by now.
            #expect(methods(proxy, after: count) == ["PROPFIND", "PROPFIND", "PROPFIND", "REPORT"])
            // From the new token on.
            count = proxy.requests.count
            #expect(try await list(provider) == after)
            #expect(methods(proxy, after: count) == ["REPORT"])
        }
    }

    @Test func ofManyChangesAllIsListed() async throws {
        try await withCards(["a"]) { server, proxy, provider in
            _ = try await list(provider)
            for number in 0..<40 { try Seeding(server.root).file("n\(number).vcf", card("n\(number)")) }
            let count = proxy.requests.count
            #expect(try await list(provider).count == 41)
            #expect(methods(proxy, after: count) == ["PROPFIND", "REPORT"])
        }
    }

    @Test func aTokenThatTheServerHasForgottenIsNoObstacle() async throws {
        try await withCards(["a", "b"]) { server, proxy, provider in
            _ = try await list(provider)
            try FileManager.default.removeItem(atPath: server.root + "/.Radicale.cache/sync-token")
            try RealFileSystem(root: server.root).unlink("a.vcf")
            let count = proxy.requests.count
            #expect(try await list(provider).keys.sorted() == ["b.vcf"])
            #expect(methods(proxy, after: count) == ["PROPFIND", "REPORT"])
        }
    }

    /// 507 of the folder itself (RFC 6578, 3.6).
    @Test func anAnswerThatIsNotWholeIsNotTaken() async throws {
        try await withCards(["a"]) { server, proxy, provider in
            _ = try await list(provider)
            try Seeding(server.root).file("b.vcf", card("b"))
            let body = """
                <?xml version="1.0"?><multistatus xmlns="DAV:"><sync-token>http://x/2</sync-token><response>\
                <href>\(server.path)</href><status>HTTP/1.1 507 Insufficient Storage</status></response></multistatus>
                """
            let head =
                "HTTP/1.1 207 Multi-Status\r\nContent-Type: text/xml\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            proxy.inject(.reply(head + body), into: "REPORT")
            #expect(try await list(provider).keys.sorted() == ["a.vcf", "b.vcf"])
        }
    }

    @Test func aServerWithoutItIsListed() async throws {
        try await withServer(.apache) { server in
            try Seeding(server.root).file("a", "a")
            let proxy = try FaultProxy(to: server)
            defer { proxy.end() }
            let provider = try server.provider(at: "http://127.0.0.1:\(proxy.port)\(server.path)")
            _ = try await list(provider)
            _ = try await list(provider)
            #expect(!proxy.requests.contains { $0.hasPrefix("REPORT") })
            await provider.invalidate()
        }
    }
}
