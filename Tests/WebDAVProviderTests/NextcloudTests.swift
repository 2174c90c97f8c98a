import FileProvider
import FileProviderTesting
import Foundation
import HTTPTransport
import MountHarness
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// What only Nextcloud and ownCloud have, against a double that answers as a Nextcloud 34 did.
@Suite("WebDAV: Nextcloud", .timeLimit(.minutes(10)))
struct NextcloudTests {
    private static var options: ServerOptions {
        var options = ServerOptions()
        options.wantsPassword = true
        return options
    }

    private static func withProvider(
        _ options: ServerOptions = options, _ body: (TestServer, FaultProxy, WebDAVProvider) async throws -> Void
    ) async throws {
        try await withServer(.nextcloud, options) { server in
            let proxy = try FaultProxy(to: server)
            defer { proxy.end() }
            let provider = try server.provider(at: "http://localhost:\(proxy.port)\(server.path)")
            // (What is known of the server decides on names.)
            _ = try await provider.probe.traits()
            try await body(server, proxy, provider)
            await provider.invalidate()
        }
    }

    private static func template(_ name: Filename, in folder: ItemIdentifier = .rootContainer) -> ItemTemplate {
        ItemTemplate(
            parentIdentifier: folder, filename: name, kind: .document,
            contentModificationDate: FileTime(seconds: 1_700_000_000))
    }

    private static func metadata(_ seconds: Int64 = 1_700_000_000) -> ItemMetadata {
        ItemMetadata(contentModificationDate: FileTime(seconds: seconds))
    }

    @Test("a large document is sent in parts; parts that have arrived are not sent again") func parts() async throws {
        try await Self.withProvider { server, proxy, provider in
            let bytes = noise(21 << 20)
            proxy.inject(.reset, into: "PUT", path: "/00003", times: 1_000)
            await #expect(throws: FileProviderError.self) {
                _ = try await provider.createItem(Self.template("big"), contents: BytesSource(bytes))
            }
            #expect(try Seeding(server.root).names() == [])
            proxy.clear()
            var made: Item?
            // (The first request may meet a connection that the proxy has just closed.)
            for _ in 0..<5 where made == nil {
                made = try? await provider.createItem(Self.template("big"), contents: BytesSource(bytes))
            }
            let item = try #require(made)
            #expect(item.size == Int64(bytes.count) && item.contentModificationDate.seconds == 1_700_000_000)
            #expect(try Seeding(server.root).read("big") == bytes)
            for part in ["00001", "00002"] {
                #expect(proxy.requests.count { $0.hasPrefix("PUT") && $0.hasSuffix("/" + part) } == 1, "\(part)")
            }
        }
    }

    @Test("what a document was before, without what it is") func versions() async throws {
        try await Self.withProvider { server, proxy, provider in
            var item = try await provider.createItem(Self.template("a ü"), contents: BytesSource(Array("first".utf8)))
            #expect(try await provider.versions(of: item.identifier, limit: 10).isEmpty)
            for (number, text) in ["second, longer", "third"].enumerated() {
                item = try await provider.itemChanged(
                    item.identifier, contents: BytesSource(Array(text.utf8)),
                    metadata: Self.metadata(1_700_000_100 + Int64(number)), baseVersion: item.version)
            }
            let versions = try await provider.versions(of: item.identifier, limit: 10)
            #expect(versions.map(\.identifier) == ["1700000100", "1700000000"])
            #expect(versions.map(\.size) == [14, 5])
            #expect(versions.map(\.contentModificationDate.seconds) == [1_700_000_100, 1_700_000_000])
            #expect(versions.allSatisfy { $0.label == nil && $0.author == nil })
            try server.tell(
                "versions", #"{"1700000000": {"version-label": "before <b> & co", "version-author": "bob"}}"#)
            let named = try await provider.versions(of: item.identifier, limit: 10)
            #expect(named.map(\.label) == [nil, "before <b> & co"] && named.map(\.author) == [nil, "bob"])
            let sink = CollectingSink(range: 0..<14)
            try await provider.startProvidingVersion(versions[0], of: item.identifier, into: sink)
            #expect(sink.bytes == Array("second, longer".utf8))
            // A name that would lead elsewhere is not sent.
            proxy.clear()
            let before = proxy.requests.count
            var other = versions[0]
            other.identifier = "../../../files/\(TestServer.user)/a"
            var refused: FileProviderError?
            do throws(FileProviderError) {
                try await provider.startProvidingVersion(other, of: item.identifier, into: sink)
            } catch { refused = error }
            #expect(refused?.code == .noSuchItem)
            #expect(proxy.requests.count == before)
        }
    }

    @Test("a document replaced in parts stays the same document, and a stale base version is refused") func replaced()
        async throws
    {
        try await Self.withProvider { server, proxy, provider in
            let first = try await provider.createItem(Self.template("a"), contents: BytesSource(noise(1_000)))
            let bytes = noise(400 << 10, seed: 2)
            let second = try await provider.itemChanged(
                first.identifier, contents: BytesSource(bytes), metadata: Self.metadata(), baseVersion: first.version)
            #expect(second.identifier == first.identifier && second.version != first.version)
            #expect(proxy.requests.contains { $0.hasPrefix("MOVE") && $0.hasSuffix("/.file") })
            await #expect {
                _ = try await provider.itemChanged(
                    first.identifier, contents: BytesSource(noise(500 << 10, seed: 3)), metadata: Self.metadata(),
                    baseVersion: first.version)
            } throws: {
                ($0 as? FileProviderError)?.code == .versionMismatch
            }
            #expect(try Seeding(server.root).read("a") == bytes)
        }
    }

    @Test("two versions of the same size and second are two versions") func sameSecond() async throws {
        try await Self.withProvider { server, _, provider in
            let first = try await provider.createItem(Self.template("a"), contents: BytesSource(Array("one".utf8)))
            let second = try await provider.itemChanged(
                first.identifier, contents: BytesSource(Array("two".utf8)), metadata: Self.metadata(),
                baseVersion: first.version)
            #expect(second.version.content != first.version.content)
            #expect(second.contentModificationDate.seconds == 1_700_000_001, "so that its tag is another one for all")
            await #expect(throws: FileProviderError.self) {
                try await provider.startProvidingItem(
                    first.identifier, version: first.version.content, range: 0..<3, into: NoSink())
            }
        }
    }

    private struct NoSink: ContentSink {
        func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
            Issue.record("a byte of another version: \(bytes)")
        }
    }

    @Test("the trash gets documents that programs delete, and nothing else") func trash() async throws {
        try await Self.withProvider { _, _, provider in
            #expect(provider.hasTrash)
            for name: Filename in ["kept", "gone"] {
                let item = try await provider.createItem(Self.template(name), contents: BytesSource([1, 2, 3]))
                if name == "kept" {
                    try await provider.trashItem(item.identifier, baseVersion: item.version)
                } else {
                    try await provider.deleteItem(item.identifier, baseVersion: item.version)
                }
            }
            let trash = try #require(try await provider.probe.traits().cloud?.trash)
            var names: [String] = []
            _ = try await provider.client.list(trash, .children, [.resourceType, .lastModified]) { responses in
                names += responses.filter { !$0.isFolder }.compactMap {
                    $0.href.split(separator: "/").last.map(String.init)
                }
            }
            #expect(names.count == 1 && names.allSatisfy { $0.hasPrefix("kept.d") }, "\(names)")
        }
    }

    @Test("use of the store, and documents that do not fit") func quota() async throws {
        var options = Self.options
        options.quota = 1_000_000
        try await Self.withProvider(options) { server, _, provider in
            _ = try await provider.createItem(Self.template("a"), contents: BytesSource(noise(200_000)))
            let quota = try await provider.quota()
            #expect(quota.total == 1_000_000 && quota.used >= 200_000)
            for size in [900_000, 11 << 20] {
                await #expect {
                    _ = try await provider.createItem(Self.template("b"), contents: BytesSource(noise(size)))
                } throws: {
                    ($0 as? FileProviderError)?.code == .insufficientQuota
                }
            }
            #expect(try Seeding(server.root).names() == ["a"])
        }
    }

    @Test("any change gives the topmost folder another version") func folderVersion() async throws {
        try await Self.withProvider { server, _, provider in
            try Seeding(server.root).file("f/g/deep", "one")
            let before = try await provider.folderVersion(of: .rootContainer)
            #expect(before != nil)
            #expect(try await provider.folderVersion(of: .rootContainer) == before)
            try Seeding(server.root).file("f/g/deep", "two, longer")
            #expect(try await provider.folderVersion(of: .rootContainer) != before)
        }
    }

    @Test("a document that another user moved to another folder is recognised by its number") func moved() async throws
    {
        try await Self.withProvider { server, _, provider in
            try Seeding(server.root).file("f/a", "one")
            try Seeding(server.root).folder("g/h")
            let folder = try #require(
                try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items.first {
                    $0.filename == "f"
                })
            let item = try #require(
                try await provider.enumerateItems(in: folder.identifier, startingAt: nil).items.first)
            try RealFileSystem(root: server.root).rename("f/a", to: "g/h/b")
            let found = try await provider.providePlaceholder(for: item.identifier)
            #expect(found.filename == "b" && found.version.content == item.version.content)
            let parent = try await provider.providePlaceholder(for: found.parentIdentifier)
            #expect(parent.filename == "h")
            try Seeding(server.root).file("g/other", "x")
            try RealFileSystem(root: server.root).unlink("g/h/b")
            await #expect {
                _ = try await provider.providePlaceholder(for: item.identifier)
            } throws: {
                ($0 as? FileProviderError)?.code == .noSuchItem
            }
        }
    }

    @Test(
        "names that the server would change or reserve are refused", arguments: ["e\u{301}", ".htaccess", "x.part"])
    func names(_ name: String) async throws {
        try await Self.withProvider { (server, _, provider) async throws in
            await #expect {
                _ = try await provider.createItem(Self.template(Filename(name)), contents: BytesSource([1]))
            } throws: {
                ($0 as? FileProviderError)?.code == .invalidName
            }
            #expect(try Seeding(server.root).names() == [])
        }
    }
}
