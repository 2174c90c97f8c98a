import FileProvider
import FileProviderTesting
import Foundation
import Logging
import MountHarness
import S3Harness
import Synchronization
import Testing
import WebDAVHarness

@testable import S3Provider

/// What the conformance suite does not ask of a bucket: parts, what other programs keep of an object, interrupted
/// operations, checksums.
@Suite("S3: documents", .timeLimit(.minutes(10)))
struct S3DocumentTests {
    /// Both servers: one keeps the entity tag of a copy of parts, the other does not.
    private static func onEach(
        _ body: @Sendable (S3TestBucket, S3Provider) async throws -> Void
    ) async throws {
        for kind in S3ServerKind.tested {
            try await withS3(kind) { server in
                let provider = try server.provider { $0.longestPut = 6 << 20 }
                try await body(server, provider)
                await provider.invalidate()
            }
        }
    }

    private static func template(
        _ name: Filename, _ seconds: Int64 = 1_600_000_000, attributes: [String: [UInt8]]? = nil
    ) -> ItemTemplate {
        ItemTemplate(
            parentIdentifier: .rootContainer, filename: name, kind: .document,
            contentModificationDate: FileTime(seconds: seconds), posixPermissions: 0o640,
            extendedAttributes: attributes)
    }

    private static func bytes(_ count: Int) -> [UInt8] { noise(count) }

    private static func read(_ provider: S3Provider, _ item: Item) async throws -> [UInt8] {
        let sink = CollectingSink(range: 0..<item.size)
        try await provider.startProvidingItem(
            item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
        return try #require(sink.bytes)
    }

    @Test("a document in parts keeps its version through another date, a move and a copy")
    func parts() async throws {
        try await Self.onEach { _, provider in
            let contents = Self.bytes(40 << 20)
            let made = try await provider.createItem(Self.template("a.bin"), contents: BytesSource(contents))
            #expect(S3Copy.parts(of: made.version.content.description) == 3)
            let dated = try await provider.updateMetadata(
                made.identifier, to: ItemMetadata(contentModificationDate: FileTime(seconds: 5)),
                baseVersion: made.version)
            #expect(dated.contentModificationDate == FileTime(seconds: 5))
            #expect(dated.version.content == made.version.content)
            let moved = try await provider.moveItem(
                dated.identifier, to: .rootContainer, as: "b.bin", baseVersion: dated.version)
            #expect(moved.version.content == made.version.content && moved.posixPermissions == 0o640)
            let copied = try await provider.copyItem(
                moved.identifier, version: moved.version.content, as: Self.template("c.bin", 7))
            #expect(copied.contentModificationDate == FileTime(seconds: 7))
            #expect(try await Self.read(provider, copied) == contents)
        }
    }

    @Test("what other programs keep of an object stays")
    func othersKeep() async throws {
        try await Self.onEach { bucket, provider in
            let client = provider.client
            // (Ceph has the classes that its operator makes; the usual one is not said.)
            let storage: String? = bucket.server.kind == .ceph ? nil : "STANDARD_IA"
            var headers: [(name: String, value: String)] = [
                ("Content-Type", "text/html"), ("Cache-Control", "max-age=60"), ("x-amz-meta-author", "ada"),
            ]
            if let storage { headers.append(("x-amz-storage-class", storage)) }
            let own = S3Client.Request(method: "PUT", key: "page", headers: headers, body: .bytes(Array("<p>".utf8)))
            guard case .success = try await client.exchange(own, { _ in }) else {
                Issue.record("no object")
                return
            }
            func expectKept(_ key: String) async throws {
                let head = try #require(try await client.head(key))
                let kept = head.headers.values
                #expect(kept["content-type"] == "text/html" && kept["cache-control"] == "max-age=60", "\(kept)")
                #expect(kept["x-amz-storage-class"] == storage, "\(kept)")
                #expect(head.metadata.others["author"] == "ada")
            }
            var item = try await provider.providePlaceholder(for: ItemIdentifier("page"))
            item = try await provider.updateMetadata(
                item.identifier,
                to: ItemMetadata(contentModificationDate: FileTime(seconds: 5), posixPermissions: 0o600),
                baseVersion: item.version)
            try await expectKept("page")
            item = try await provider.itemChanged(
                item.identifier, contents: BytesSource(Array("<b>".utf8)),
                metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 6)), baseVersion: item.version)
            try await expectKept("page")
            item = try await provider.moveItem(
                item.identifier, to: .rootContainer, as: "other", baseVersion: item.version)
            try await expectKept("other")
            let named = try await provider.createItem(Self.template("x.png"), contents: BytesSource([1]))
            #expect(try await client.head("x.png")?.headers.values["content-type"] == "image/png", "\(named)")
        }
    }

    @Test("attributes for which there is no room stay on this machine, and the document is sent")
    func tooManyAttributes() async throws {
        try await withS3(.moto) { server in
            let provider = try server.provider()
            let made = try await provider.createItem(
                Self.template("a", attributes: ["user.large": Self.bytes(3_000)]), contents: BytesSource([1]))
            #expect(made.extendedAttributes == nil)
            let listed = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            #expect(listed.items.map(\.extendedAttributes) == [nil])
            await provider.invalidate()
        }
    }

    /// A kill between the copy and the deletion of the old key.
    @Test("a move that was interrupted after its copy is finished")
    func interruptedMove() async throws {
        try await Self.onEach { _, provider in
            let made = try await provider.createItem(Self.template("old"), contents: BytesSource(Self.bytes(100)))
            let head = try #require(try await provider.client.head("old"))
            let copy = S3Copy(
                provider: provider, head: head, target: "new", condition: .absent,
                traits: try await provider.conditions.traits())
            guard case .done = try await copy.run() else {
                Issue.record("no copy")
                return
            }
            let moved = try await provider.moveItem(
                made.identifier, to: .rootContainer, as: "new", baseVersion: made.version)
            #expect(moved.identifier == ItemIdentifier("new"))
            #expect(try await provider.client.head("old") == nil)
            // Another document with the name is not replaced.
            let second = try await provider.createItem(Self.template("old"), contents: BytesSource([1]))
            await #expect(throws: FileProviderError.self) {
                try await provider.moveItem(
                    second.identifier, to: .rootContainer, as: "new", baseVersion: second.version)
            }
            #expect(try await Self.read(provider, moved) == Self.bytes(100))
        }
    }

    @Test(
        "an upload goes on with the parts that the server has, and has the new date; another machine's is left alone")
    func resumed() async throws {
        // (moto does not say which parts it has.)
        try await withS3(.usual) { server in
            let provider = try server.provider()
            let contents = Self.bytes(40 << 20)
            let part = Int64(S3MultipartUpload.partSize(40 << 20))
            let digests = try await S3Digests(BytesSource(contents), 0..<part)
            func begin() async throws -> String {
                let begun = try await provider.client.beginUpload(
                    "a.bin",
                    S3Metadata(modified: FileTime(seconds: 1), permissions: 0o600, attributes: nil), .own)
                guard case .success(let id) = begun else { throw HarnessError("no upload: \(begun)") }
                _ = try await provider.client.putPart(
                    "a.bin", id, 1, .content(BytesSource(contents), 0..<part, sha256: digests.sha256), digests)
                return id
            }
            let (ours, theirs) = (try await begin(), try await begin())
            let upload = S3Upload(
                provider: provider, path: "a.bin", contents: BytesSource(contents), metadata: S3Metadata(),
                headers: .own, condition: .absent, traits: S3Traits())
            let mark = S3MultipartUpload(upload: upload, client: provider.client, key: "a.bin").mark
            let bytes = Array(ours.utf8)
            _ = try await provider.client.put(
                mark, .bytes(bytes), sha256: S3Digests(bytes).sha256, .own, condition: .none)
            let counted = CountingSource(contents)
            let made = try await provider.createItem(Self.template("a.bin"), contents: counted)
            #expect(made.contentModificationDate == FileTime(seconds: 1_600_000_000) && made.posixPermissions == 0o640)
            #expect(counted.sent == Int64(contents.count) - part)
            #expect(try await Self.read(provider, made) == contents)
            #expect(try await provider.client.parts(of: theirs, "a.bin")?.count == 1)
            #expect(try await provider.client.list("", isFlat: true).objects.map(\.key) == ["a.bin"])
            // Other contents: the upload that does not fit ends.
            let other = try await begin()
            let text = Array(other.utf8)
            _ = try await provider.client.put(
                mark, .bytes(text), sha256: S3Digests(text).sha256, .own, condition: .none)
            _ = try await provider.itemChanged(
                made.identifier, contents: BytesSource(contents.reversed()),
                metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 5)), baseVersion: made.version)
            #expect(try await provider.client.parts(of: other, "a.bin") == nil)
            await provider.client.abortAnyway(theirs, "a.bin")
            await provider.invalidate()
        }
    }

    /// `a` and `a/` lie more than one part of a listing apart.
    @Test("a key that is a document and a folder shows as the folder, however far apart they are")
    func bothKinds() async throws {
        try await withS3(.moto) { server in
            let provider = try server.provider()
            let client = provider.client
            let digests = S3Digests([])
            for key in ["a", "a/x"] + (0..<1_000).map({ "a!\($0)" }) {
                _ = try await client.put(key, .bytes([]), sha256: digests.sha256, .own, condition: .none)
            }
            var items: [Item] = []
            var leftOut: [LeftOutItem] = []
            var page: Page?
            repeat {
                let part = try await provider.enumerateItems(in: .rootContainer, startingAt: page)
                items += part.items
                leftOut += part.leftOut
                page = part.nextPage
            } while page != nil
            #expect(items.filter { $0.filename == "a" }.map(\.kind.isFolder) == [true])
            #expect(leftOut.map(\.filename) == ["a"] && items.count == 1_001)
            await provider.invalidate()
        }
    }

    @Test("what an interrupted operation of ours has left does not keep a folder")
    func leftovers() async throws {
        try await Self.onEach { _, provider in
            let folder = try await provider.createItem(
                ItemTemplate(
                    parentIdentifier: .rootContainer, filename: "f", kind: .folder,
                    contentModificationDate: FileTime(seconds: 1)), contents: nil)
            _ = try await provider.client.put(
                "f/.hydrant-move-0123", .bytes([]), sha256: S3Digests([]).sha256, .own, condition: .none)
            #expect(try await provider.enumerateItems(in: folder.identifier, startingAt: nil).items == [])
            try await provider.deleteItem(folder.identifier, baseVersion: folder.version)
            #expect(try await provider.client.list("", isFlat: true).objects == [])
        }
    }

    @Test("a folder stays when its only folder is moved away")
    func onlyFolder() async throws {
        try await Self.onEach { _, provider in
            // (Without a marker, as other programs make folders.)
            _ = try await provider.client.put(
                "outer/inner/x", .bytes([]), sha256: S3Digests([]).sha256, .own, condition: .none)
            let inner = try await provider.providePlaceholder(for: ItemIdentifier("outer/inner/"))
            _ = try await provider.moveItem(
                inner.identifier, to: .rootContainer, as: "inner", baseVersion: inner.version)
            let names = try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items.map(\.filename)
            #expect(Set(names) == ["inner", "outer"])
            #expect(try await provider.enumerateItems(in: ItemIdentifier("outer/"), startingAt: nil).items == [])
        }
    }

    @Test("a damaged download is refused")
    func damaged() async throws {
        try await withS3(.moto) { server in
            let direct = try server.provider()
            let made = try await direct.createItem(
                Self.template("a"), contents: BytesSource(Array("the truth".utf8)))
            await direct.invalidate()
            let proxy = try FaultProxy(port: server.port)
            defer { proxy.end() }
            let provider = try server.provider { $0.endpoint = "http://127.0.0.1:\(proxy.port)" }
            #expect(try await Self.read(provider, made) == Array("the truth".utf8))
            let sum = S3Client.base64(S3Digests(Array("the truth".utf8)).sha256)
            let head = [
                "HTTP/1.1 206 Partial Content", "Content-Range: bytes 0-8/9", "Content-Length: 9",
                "ETag: \"\(made.version.content)\"", "x-amz-checksum-sha256: \(sum)", "Connection: close",
            ]
            proxy.inject(.reply(head.joined(separator: "\r\n") + "\r\n\r\nthe lies!"), into: "GET")
            let sink = CollectingSink(range: 0..<made.size)
            let error = await #expect(throws: FileProviderError.self) {
                try await provider.startProvidingItem(
                    made.identifier, version: made.version.content, range: 0..<made.size, into: sink)
            }
            #expect(error?.message.contains("has arrived damaged") == true, "\(String(describing: error))")
            #expect(sink.bytes == nil)
            await provider.invalidate()
        }
    }

    @Test("a name that the server would change is refused")
    func names() async throws {
        for (kind, name) in [(S3ServerKind.seaweedfs, "a\\b"), (.moto, "a\nb")] as [(S3ServerKind, Filename)] {
            try await withS3(kind) { server in
                let provider = try server.provider()
                let error = await #expect(throws: FileProviderError.self) {
                    try await provider.createItem(Self.template(name), contents: BytesSource([1]))
                }
                #expect(error?.code == .invalidName, "\(String(describing: error))")
                #expect(try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items == [])
                await provider.invalidate()
            }
        }
    }

    @Test("an archived document says what to do")
    func archived() async throws {
        try await withS3(.moto) { server in
            let provider = try server.provider()
            let archive = S3Client.Request(
                method: "PUT", key: "old", headers: [("x-amz-storage-class", "GLACIER")], body: .bytes([1, 2, 3]))
            _ = try await provider.client.exchange(archive) { _ in }
            let item = try await provider.providePlaceholder(for: ItemIdentifier("old"))
            let error = await #expect(throws: FileProviderError.self) { try await Self.read(provider, item) }
            #expect(error?.message.contains("must be restored") == true, "\(String(describing: error))")
            await provider.invalidate()
        }
    }
}

/// Counts the bytes that are read to be sent, not those that are only looked at.
private final class CountingSource: ContentSource {
    private let base: BytesSource
    private let counted = Mutex<Int64>(0)
    init(_ bytes: [UInt8]) { base = BytesSource(bytes) }
    var sent: Int64 { counted.withLock { $0 } }
    var size: Int64 { base.size }
    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        let bytes = try await base.read(at: offset, upTo: count)
        counted.withLock { $0 += Int64(bytes.count) }
        return bytes
    }
    func readLocally(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        try await base.read(at: offset, upTo: count)
    }
}
