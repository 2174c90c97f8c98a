import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// What servers do without saying so, and what proxies before them change.
@Suite("WebDAV: servers behind proxies", .timeLimit(.minutes(5)))
struct ProxyTests {
    private static func withProxy(
        _ kind: ServerKind, _ adjust: (inout FaultProxy.Manners) -> Void = { _ in },
        _ body: (TestServer, FaultProxy, WebDAVProvider) async throws -> Void
    ) async throws {
        try await withServer(kind) { server in
            var manners = FaultProxy.Manners()
            adjust(&manners)
            let proxy = try FaultProxy(to: server, manners)
            defer { proxy.end() }
            let provider = try server.provider(at: "http://localhost:\(proxy.port)\(server.path)")
            try await body(server, proxy, provider)
            await provider.invalidate()
        }
    }

    private static func create(
        _ name: Filename, _ text: String, _ provider: WebDAVProvider
    ) async throws(FileProviderError) -> Item {
        try await provider.createItem(
            ItemTemplate(
                parentIdentifier: .rootContainer, filename: name, kind: .document,
                contentModificationDate: FileTime(seconds: 0)), contents: BytesSource(Array(text.utf8)))
    }

    private static func names(_ server: TestServer) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: server.root).filter { $0 != ".DAV" }.sorted()
    }

    // MARK: Names

    @Test(
        "a name that the server would cut is refused, and the item with the cut name stays",
        arguments: [true, false], ["x;y.txt", "x?y.txt", "x\n", "\tx"])
    func cutName(hidesServer: Bool, name: String) async throws {
        try await Self.withProxy(.wsgidav, { if hidesServer { $0.hides = "Server" } }) { server, _, provider in
            try Seeding(server.root).file("x", "another document")
            try Seeding(server.root).file("old", "old")
            for _ in 0..<2 {
                do throws(FileProviderError) {
                    let item = try await Self.create(Filename(name), "mine", provider)
                    Issue.record("it went to \(item.filename)")
                } catch { #expect(error.code == .invalidName, "\(error)") }
            }
            let items = try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items
            let old = try #require(items.first { $0.filename == "old" })
            do throws(FileProviderError) {
                _ = try await provider.moveItem(
                    old.identifier, to: .rootContainer, as: Filename(name), baseVersion: old.version)
                Issue.record("it was moved")
            } catch { #expect(error.code == .invalidName, "\(error)") }
            #expect(try Seeding(server.root).text("x") == "another document")
            #expect(try Self.names(server) == ["old", "x"])
        }
    }

    @Test(
        "a name that the server keeps is kept, after one trial",
        arguments: [ServerKind.apache, .rclone], ["x;y.txt", "x?y", "x#y", "x%41", "x+y", "x\\y", "x:y", "x.", "x "])
    func keptName(_ kind: ServerKind, name: String) async throws {
        try await Self.withProxy(kind) { server, proxy, provider in
            let item = try await Self.create(Filename(name), "mine", provider)
            #expect(item.filename == Filename(name))
            #expect(try Self.names(server) == [name])
            #expect(try Seeding(server.root).text(name) == "mine")
            let tries = proxy.requests.count { $0.contains(".hydrant-try-") }
            _ = try await provider.itemChanged(
                item.identifier, contents: BytesSource(Array("new".utf8)),
                metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 0)), baseVersion: item.version)
            #expect(try Seeding(server.root).text(name) == "new")
            #expect(proxy.requests.count { $0.contains(".hydrant-try-") } == tries)
        }
    }

    @Test(
        "a test shows whether locks work, regardless of the server's name",
        arguments: [(ServerKind.apache, true), (.rclone, true), (.wsgidav, false)])
    func locks(_ kind: ServerKind, hold: Bool) async throws {
        try await Self.withProxy(kind, { $0.hides = "Server" }) { server, _, provider in
            #expect(try await provider.locksHold(in: provider.root, "new") == hold)
            _ = try await Self.create("new", "text", provider)
            #expect(try Self.names(server) == ["new"])
        }
    }

    // MARK: Targets

    @Test(
        "behind a proxy that changes Host everything can be saved, moved and copied",
        arguments: [ServerKind.apache, .rclone, .wsgidav])
    func changedHost(_ kind: ServerKind) async throws {
        try await Self.withProxy(kind, { $0.host = "backend.invalid:1" }) { server, _, provider in
            let item = try await Self.create("a", "old", provider)
            let changed = try await provider.itemChanged(
                item.identifier, contents: BytesSource(Array("newer".utf8)),
                metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 0)), baseVersion: item.version)
            let moved = try await provider.moveItem(
                changed.identifier, to: .rootContainer, as: "b", baseVersion: changed.version)
            let template = ItemTemplate(
                parentIdentifier: .rootContainer, filename: "c", kind: .document,
                contentModificationDate: FileTime(seconds: 0))
            _ = try await provider.copyItem(moved.identifier, version: moved.version.content, as: template)
            #expect(try Self.names(server) == ["b", "c"])
            #expect(try Seeding(server.root).text("b") == "newer" && Seeding(server.root).text("c") == "newer")
        }
    }

    private static func status(_ text: String) -> FaultProxy.Fault {
        .reply("HTTP/1.1 \(text)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    }

    @Test("behind a proxy that ends TLS, an Apache gets targets with http") func endedTLS() async throws {
        try await Self.withProxy(.apache) { server, proxy, provider in
            let item = try await Self.create("a", "text", provider)
            // As it answers what names another protocol; and a path, with 400.
            proxy.inject(Self.status("502 Bad Gateway"), into: "MOVE")
            let moved = try await provider.moveItem(
                item.identifier, to: .rootContainer, as: "b", baseVersion: item.version)
            #expect(try Self.names(server) == ["b"])
            // From then on at once.
            let before = proxy.requests.count { $0.hasPrefix("MOVE") }
            _ = try await provider.moveItem(
                moved.identifier, to: .rootContainer, as: "c", baseVersion: moved.version)
            #expect(proxy.requests.count { $0.hasPrefix("MOVE") } == before + 1)
        }
    }

    @Test("where no target is accepted, the error names the cause, and not an absent server")
    func noTarget() async throws {
        try await Self.withProxy(.rclone) { server, proxy, provider in
            let item = try await Self.create("a", "text", provider)
            proxy.inject(Self.status("502 Bad Gateway"), into: "MOVE", times: 100)
            do throws(FileProviderError) {
                _ = try await provider.moveItem(
                    item.identifier, to: .rootContainer, as: "b", baseVersion: item.version)
                Issue.record("it was moved")
            } catch {
                #expect(error.code == .cannotSynchronize, "\(error)")
                #expect(error.message.contains("Host"), "\(error)")
            }
            #expect(try Self.names(server) == ["a"])
        }
    }

    // MARK: Versions

    @Test("a document whose bytes have another tag is read, while the listing's version still exists")
    func otherTag() async throws {
        try await Self.withProxy(.apache) { server, proxy, provider in
            // Not a weak tag.
            try Seeding(server.root).file("a", "text", modified: 1_000_000_000)
            chmod(server.root + "/a", 0o666)
            let items = try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items
            let item = try #require(items.first)
            proxy.inject(.rewrite("ETag: \"", "ETag: \"other-"), into: "GET", times: 3)
            let sink = CollectingSink(range: 0..<4)
            try await provider.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<4, into: sink)
            #expect(sink.bytes == Array("text".utf8))
            let part = CollectingSink(range: 1..<3)
            try await provider.startProvidingItem(
                item.identifier, version: item.version.content, range: 1..<3, into: part)
            #expect(part.bytes == Array("ex".utf8))

            // Another version of the same size is not taken for it.
            try Seeding(server.root).file("a", "TEXT", modified: 1_000_000_100)
            do throws(FileProviderError) {
                try await provider.startProvidingItem(
                    item.identifier, version: item.version.content, range: 0..<4,
                    into: CollectingSink(range: 0..<4))
                Issue.record("another version was taken")
            } catch { #expect(error.code == .versionMismatch, "\(error)") }
        }
    }

    @Test("an upload or move that shows only after a moment counts as done") func late() async throws {
        try await Self.withProxy(.rclone) { server, proxy, provider in
            _ = try await Self.create("first", "text", provider)
            proxy.inject(Self.status("404 Not Found"), into: "PROPFIND", path: ".hydrant-upload-", times: 4)
            let item = try await Self.create("a", "text", provider)
            #expect(try Seeding(server.root).text("a") == "text")
            proxy.inject(Self.status("404 Not Found"), into: "PROPFIND", path: "/moved", times: 4)
            let moved = try await provider.moveItem(
                item.identifier, to: .rootContainer, as: "moved", baseVersion: item.version)
            #expect(moved.filename == "moved" && moved.size == 4)
        }
    }
}
