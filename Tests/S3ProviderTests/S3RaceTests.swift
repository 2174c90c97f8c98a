import FileProvider
import FileProviderTesting
import Foundation
import HTTPTransport
import MountHarness
import S3Harness
import Testing
import WebDAVHarness

@testable import S3Provider

/// What other machines do in the moment between a look and a change, and what only other programs put into a bucket.
@Suite("S3: other machines at the same moment", .timeLimit(.minutes(10)))
struct S3RaceTests {
    private struct Bucket {
        let server: S3TestBucket
        let proxy: FaultProxy
        /// Through the proxy.
        let provider: S3Provider
        /// Another machine's.
        let other: S3Provider

        func put(_ key: String, _ text: String) async throws {
            let bytes = Array(text.utf8)
            let outcome = try await other.client.put(
                key, .bytes(bytes), sha256: S3Digests(bytes).sha256, .own, condition: .none)
            guard case .success = outcome else { throw HarnessError("\(key) is not put: \(outcome)") }
        }

        func text(_ key: String) async throws -> String? {
            let request = S3Client.Request(method: "GET", key: key, retries: .always)
            let outcome = try await other.client.exchange(request) { reply in
                String(decoding: try await reply.prefix(1 << 20), as: UTF8.self)
            }
            guard case .success(let text) = outcome else { return nil }
            return text
        }

        func keys() async throws -> [String] { try await other.client.list("", isFlat: true).objects.map(\.key) }

        func item(_ path: String) async throws -> Item {
            try await other.providePlaceholder(for: ItemIdentifier(path))
        }

        /// The next answers to HEAD of this document tell of it as it was.
        func hold(_ item: Item, times: Int) {
            let head = [
                "HTTP/1.1 200 OK", "ETag: \"\(item.version.content)\"", "Content-Length: \(item.size)",
                "Last-Modified: Sat, 28 Nov 2026 12:00:00 GMT", "Connection: close",
            ]
            proxy.inject(
                .reply(head.joined(separator: "\r\n") + "\r\n\r\n"), into: "HEAD", path: "/\(item.identifier)",
                times: times)
        }
    }

    private static func withBucket(
        _ kind: S3ServerKind, _ prefix: String = "", _ body: (Bucket) async throws -> Void
    ) async throws {
        try await withS3(kind) { server in
            let proxy = try FaultProxy(port: server.port)
            defer { proxy.end() }
            let provider = try server.provider(prefix) { $0.endpoint = "http://127.0.0.1:\(proxy.port)" }
            let other = try server.provider()
            try await body(Bucket(server: server, proxy: proxy, provider: provider, other: other))
            await provider.invalidate()
            await other.invalidate()
        }
    }

    // MARK: Copies

    /// moto copies whatever is there.
    @Test("another date does not make another machine's contents ours")
    func anotherDate() async throws {
        try await Self.withBucket(.moto) { it in
            try await it.put("letter", "ours")
            let item = try await it.item("letter")
            let traits = try await it.provider.conditions.traits()
            try #require(!traits.keepsSource)
            try await it.put("letter", "theirs")
            it.hold(item, times: 2)
            let error = await #expect(throws: FileProviderError.self) {
                try await it.provider.updateMetadata(
                    item.identifier, to: ItemMetadata(contentModificationDate: FileTime(seconds: 5)),
                    baseVersion: item.version)
            }
            #expect(error?.code == .versionMismatch, "\(String(describing: error))")
            #expect(try await it.text("letter") == "theirs")
        }
    }

    @Test("a move does not leave a copy of what another machine has saved meanwhile")
    func movedMeanwhile() async throws {
        try await Self.withBucket(.moto) { it in
            try await it.put("letter", "ours")
            let item = try await it.item("letter")
            _ = try await it.provider.conditions.traits()
            try await it.put("letter", "theirs")
            it.hold(item, times: 2)
            let error = await #expect(throws: FileProviderError.self) {
                try await it.provider.moveItem(
                    item.identifier, to: .rootContainer, as: "moved", baseVersion: item.version)
            }
            #expect(error?.code == .versionMismatch, "\(String(describing: error))")
            #expect(try await it.keys() == ["letter"])
            #expect(try await it.text("letter") == "theirs")
        }
    }

    @Test("a copy does not replace what is at its place", arguments: S3ServerKind.tested)
    func takenPlace(_ kind: S3ServerKind) async throws {
        try await Self.withBucket(kind) { it in
            try await it.put("letter", "ours")
            try await it.put("moved", "theirs")
            let head = try #require(try await it.provider.client.head("letter"))
            let copy = S3Copy(
                provider: it.provider, head: head, target: "moved", condition: .absent,
                traits: try await it.provider.conditions.traits())
            guard case .refused = try await copy.run() else {
                Issue.record("it is copied")
                return
            }
            #expect(try await it.text("moved") == "theirs")
        }
    }

    @Test("login tells of copies without conditions")
    func notes() async throws {
        try await withS3(.moto) { server in
            let provider = try server.provider()
            let notes = try await provider.describeConditions()
            #expect(notes.contains { $0.contains("copies without a condition") }, "\(notes)")
            await provider.invalidate()
        }
    }

    /// Ceph RGW keeps no conditions in a bucket with versions.
    @Test("a bucket that begins to keep versions is tried out again")
    func versions() async throws {
        try await Self.withBucket(.moto) { it in
            _ = try await it.provider.conditions.parts()
            func tries() -> Int { it.proxy.changes.count { $0.contains("/.hydrant-try-") } }
            let once = tries()
            try it.server.keepVersions()
            for number in 0..<3 {
                _ = try await it.provider.createItem(
                    Self.letter(.rootContainer, Filename("\(number)")), contents: BytesSource([1]))
            }
            let twice = tries()
            #expect(twice > once)
            #expect(try await it.provider.conditions.traits().hasVersions)
            _ = try await it.provider.createItem(Self.letter(.rootContainer, "more"), contents: BytesSource([1]))
            #expect(tries() == twice)
        }
    }

    // MARK: Deletions

    /// As Ceph RGW does: the deletion itself has no condition.
    @Test("the last look comes directly before the deletion")
    func lastLook() async throws {
        try await Self.withBucket(.moto) { it in
            it.proxy.inject(
                .replyAfterwards("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"), into: "DELETE",
                path: "/.hydrant-try-", times: .max)
            let traits = try await it.provider.conditions.traits()
            try #require(!traits.keepsDeletion)
            for name in ["one", "two"] { try await it.put("folder/\(name)", name) }
            func expectLook(_ name: String) throws {
                let requests = it.proxy.requests
                let deletion = try #require(requests.lastIndex { $0.hasPrefix("DELETE") && $0.hasSuffix("/\(name)") })
                #expect(
                    requests[deletion - 1].hasPrefix("HEAD") && requests[deletion - 1].hasSuffix("/\(name)"),
                    "\(requests.suffix(6))")
            }
            let one = try await it.item("folder/one")
            try await it.provider.deleteItem(one.identifier, baseVersion: one.version)
            try expectLook("one")
            let two = try await it.item("folder/two")
            _ = try await it.provider.moveItem(
                two.identifier, to: .rootContainer, as: "moved", baseVersion: two.version)
            try expectLook("two")
            #expect(try await it.keys() == ["folder/", "moved"])
            // What is gone does not bring its folder back.
            await #expect(throws: FileProviderError.self) {
                try await it.provider.deleteItem(ItemIdentifier("nowhere/x"), baseVersion: one.version)
            }
            #expect(try await it.keys() == ["folder/", "moved"])
        }
    }

    /// Web sites keep a page there.
    @Test("what is under a folder's own key is neither hidden nor deleted")
    func pageOfAFolder() async throws {
        try await Self.withBucket(.moto) { it in
            try await it.put("about/", "<p>about")
            let page = try await it.provider.enumerateItems(in: ItemIdentifier("about/"), startingAt: nil)
            #expect(page.items.isEmpty && page.leftOut.count == 1)
            let folder = try await it.item("about/")
            let error = await #expect(throws: FileProviderError.self) {
                try await it.provider.deleteItem(folder.identifier, baseVersion: folder.version)
            }
            #expect(error?.code == .directoryNotEmpty)
            #expect(try await it.text("about/") == "<p>about")
            // Moved with its folder; not where another one is.
            _ = try await it.provider.moveItem(
                folder.identifier, to: .rootContainer, as: "us", baseVersion: folder.version)
            #expect(try await it.keys() == ["us/"])
            #expect(try await it.text("us/") == "<p>about")
            try await it.put("them/", "another")
            let move = S3FolderMove(
                provider: it.provider, source: "us/", target: "them/",
                traits: try await it.provider.conditions.traits())
            try await move.run()
            #expect(try await it.text("us/") == "<p>about")
            #expect(try await it.text("them/") == "another")
        }
    }

    // MARK: Folders

    private static func letter(_ folder: ItemIdentifier, _ name: Filename) -> ItemTemplate {
        ItemTemplate(
            parentIdentifier: folder, filename: name, kind: .document,
            contentModificationDate: FileTime(seconds: 1_600_000_000))
    }

    /// The entity tags of objects that the server encrypts with a key of KMS differ, though their contents are equal.
    @Test("a folder's move knows its copies by their checksums")
    func checksums() async throws {
        try await Self.withBucket(.moto) { it in
            let contents = BytesSource(Array("the same".utf8))
            let inParts = try it.server.provider { $0.longestPut = 1 }
            for (folder, maker) in [("a/", it.other), ("b/", inParts)] {
                try await it.put(folder, "")
                _ = try await maker.createItem(Self.letter(ItemIdentifier(folder), "letter"), contents: contents)
            }
            await inParts.invalidate()
            let traits = try await it.provider.conditions.traits()
            let move = S3FolderMove(provider: it.provider, source: "a/", target: "b/", traits: traits)
            try await move.run()
            #expect(try await it.keys() == ["a/letter", "b/", "b/letter"])
            let sum = S3Client.base64(S3Digests(Array("the same".utf8)).sha256)
            it.proxy.inject(
                .rewrite("ETag: ", "x-amz-checksum-sha256: \(sum)\r\nETag: "), into: "HEAD", path: "/letter",
                times: .max)
            try await move.run()
            #expect(try await it.keys() == ["b/", "b/letter"])
        }
    }

    @Test("a folder with an object that cannot be copied stays whole, at its place, at each attempt")
    func archivedInAFolder() async throws {
        try await Self.withBucket(.moto) { it in
            try await it.put("a/first", "1")
            let archive = S3Client.Request(
                method: "PUT", key: "a/old", headers: [("x-amz-storage-class", "GLACIER")], body: .bytes([1]))
            _ = try await it.other.client.exchange(archive) { _ in }
            let folder = try await it.item("a/")
            for _ in 0..<2 {
                let error = await #expect(throws: FileProviderError.self) {
                    try await it.provider.moveItem(
                        folder.identifier, to: .rootContainer, as: "b", baseVersion: folder.version)
                }
                #expect(error?.code == .unsupported, "\(String(describing: error))")
                #expect(try await it.keys() == ["a/first", "a/old"])
            }
            // A key that gets too long.
            let long = String(repeating: String(repeating: "x", count: 200) + "/", count: 5) + "123456789"
            try await it.put("c/\(long)", "1")
            let error = await #expect(throws: FileProviderError.self) {
                try await it.provider.moveItem(
                    ItemIdentifier("c/"), to: .rootContainer, as: "a-longer-name", baseVersion: folder.version)
            }
            #expect(error?.code == .invalidName, "\(String(describing: error))")
            #expect(try await it.keys().count == 3)
        }
    }

    private static func put(_ intent: S3Intent, at key: String, _ it: Bucket) async throws {
        try await it.put(key, String(decoding: try JSONEncoder().encode(intent), as: UTF8.self))
    }

    /// A kill between the deletions at the old place; then the user has moved the folder on.
    @Test("a move to another place takes along what the one before has moved")
    func movedOn() async throws {
        try await Self.withBucket(.moto, "home") { it in
            for key in ["a/two", "b/one", "b/two"] { try await it.put("home/\(key)", String(key.last ?? "x")) }
            var intent = S3Intent(source: "home/a/", target: "home/b/")
            intent.isCopied = true
            try await Self.put(intent, at: intent.atSource, it)
            let folder = try await it.item("home/a/")
            let moved = try await it.provider.moveItem(
                ItemIdentifier("a/"), to: .rootContainer, as: "c", baseVersion: folder.version)
            #expect(moved.identifier == ItemIdentifier("c/"))
            #expect(try await it.keys() == ["home/c/one", "home/c/two"])
        }
    }

    @Test("mounts of other prefixes hide a half copied folder as well")
    func otherPrefix() async throws {
        try await Self.withBucket(.moto, "home") { it in
            for key in ["home/a/one", "home/a/two", "home/b/one"] { try await it.put(key, "1") }
            let intent = S3Intent(source: "home/a/", target: "home/b/")
            for key in [intent.atSource, intent.atTarget] { try await Self.put(intent, at: key, it) }
            let inner = try await it.provider.enumerateItems(in: .rootContainer, startingAt: nil).items
            #expect(inner.map(\.filename) == ["a"])
            let outer = try await it.other.enumerateItems(in: ItemIdentifier("home/"), startingAt: nil).items
            #expect(outer.map(\.filename) == ["a"])
        }
    }

    /// The marks come after the first thousand names.
    @Test("a half copied folder is hidden in the first part of a long listing")
    func manyNames() async throws {
        try await Self.withBucket(.moto) { it in
            for number in 0..<1_000 { try await it.put("!\(number)", "") }
            try await it.put("!!/one", "1")
            let intent = S3Intent(source: "z/", target: "!!/")
            try await Self.put(intent, at: intent.atTarget, it)
            let first = try await it.provider.enumerateItems(in: .rootContainer, startingAt: nil)
            #expect(first.nextPage != nil)
            #expect(!first.items.contains { $0.filename == "!!" })
        }
    }
}
