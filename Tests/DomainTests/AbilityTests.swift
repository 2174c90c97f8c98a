import FileProvider
import FileProviderTesting
import Foundation
import Hashing
import MountHarness
import Synchronization
import Testing

/// Copies by itself, says how full it is, and makes thumbnails.
final class AbleProvider: ForwardingProvider, ServerSideCopying, QuotaReporting, ThumbnailProviding {
    let base = InMemoryProvider()

    struct Controls: Sendable {
        var copyRefusal: FileProviderError.Code?
        var uploadRefusal: FileProviderError.Code?
        /// A copy is made, and its reply lost.
        var losesReplies = 0
        var quota = StoreQuota(used: 0, total: nil)
        var thumbnail: [UInt8]?
        var copies: [Filename] = []
        var uploads: [Filename] = []
        var thumbnailSizes: [Int] = []
        var template: ItemTemplate?
    }
    private let state = Mutex(Controls())
    var controls: Controls {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    func createItem(
        _ template: ItemTemplate, contents: (any ContentSource)?
    ) async throws(FileProviderError) -> Item {
        if contents != nil { state.withLock { $0.uploads.append(template.filename) } }
        if let refusal = controls.uploadRefusal { throw FileProviderError(refusal, "A test wanted it so.") }
        return try await base.createItem(template, contents: contents)
    }

    func copyItem(
        _ identifier: ItemIdentifier, version: ContentVersion, as template: ItemTemplate
    ) async throws(FileProviderError) -> Item {
        let (refusal, loses) = state.withLock { state in
            state.copies.append(template.filename)
            state.template = template
            defer { state.losesReplies = max(0, state.losesReplies - 1) }
            return (state.copyRefusal, state.losesReplies > 0)
        }
        if let refusal { throw FileProviderError(refusal, "A test wanted it so.") }
        let original = try await base.providePlaceholder(for: identifier)
        let sink = CollectingSink(range: 0..<original.size)
        try await base.startProvidingItem(identifier, version: version, range: 0..<original.size, into: sink)
        let copy = try await base.createItem(template, contents: BytesSource(sink.bytes!))
        if loses { throw FileProviderError(.serverUnreachable, "A test has lost the reply.") }
        return copy
    }

    func quota() async throws(FileProviderError) -> StoreQuota { controls.quota }

    func thumbnail(
        of identifier: ItemIdentifier, version: ContentVersion, size: Int
    ) async throws(FileProviderError) -> Thumbnail? {
        state.withLock { state in
            state.thumbnailSizes.append(size)
            return state.thumbnail.map { Thumbnail(bytes: $0) }
        }
    }
}

@Suite("Copies that the store makes") struct CopyTests {
    private static func text(_ provider: AbleProvider, _ path: String) -> String? {
        provider.base.read(path).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("cp within the mount uploads nothing", arguments: [true, false]) func copied(_ passthrough: Bool) async throws
    {
        let provider = AbleProvider()
        let contents = String(repeating: "some text\n", count: 50_000)
        try provider.base.put("a", contents.utf8, modified: FileTime(seconds: 1_500_000_000))
        try await withServed(provider, passthrough: passthrough) { served in
            try served.run("chmod 640 a")
            try served.sync()
            // (A placeholder has so few blocks that cp takes it for sparse, and reads and writes it.)
            try served.run("cat a >/dev/null; cp a b; cp -p a kept; cmp a b; cmp a kept")
            try served.sync()
            #expect(Set(provider.controls.copies) == ["b", "kept"])
            #expect(provider.controls.uploads.isEmpty)
            #expect(Self.text(provider, "b") == contents && Self.text(provider, "kept") == contents)
            // Mode and dates are the copy's.
            let kept = try #require(provider.base.item(at: "kept"))
            #expect(kept.contentModificationDate.seconds == 1_500_000_000)
            #expect(kept.posixPermissions == 0o640)
            let b = try #require(provider.base.item(at: "b"))
            #expect(b.contentModificationDate.seconds > 1_600_000_000)
            #expect(b.identifier != provider.base.item(at: "a")?.identifier)
        }
    }

    @Test("a changed copy and a copy of a changed document are uploaded", arguments: [true, false])
    func changed(_ passthrough: Bool) async throws {
        let provider = AbleProvider()
        try provider.base.put("a", "0123456789")
        try provider.base.put("c", "0123456789")
        // All of it is done before anything is sent, however slow the machine is.
        try await withServed(provider, passthrough: passthrough, settle: 3_600) { served in
            try served.run(
                """
                cp a same-size; printf X | dd of=same-size conv=notrunc status=none
                cp a longer; printf X >>longer
                cp a cut; truncate -s 5 cut
                printf Y | dd of=c conv=notrunc status=none; cp c of-changed
                head -c 5 a >part
                """)
            try served.sync()
            // (If the change of c is in the store by then, its copy can be made there.)
            #expect(Set(provider.controls.copies).isSubset(of: ["of-changed"]))
            #expect(Set(provider.controls.uploads).isSuperset(of: ["same-size", "longer", "cut", "part"]))
            #expect(Self.text(provider, "same-size") == "X123456789")
            #expect(Self.text(provider, "longer") == "0123456789X")
            #expect(Self.text(provider, "cut") == "01234")
            #expect(Self.text(provider, "c") == "Y123456789")
            #expect(Self.text(provider, "of-changed") == "Y123456789")
            #expect(Self.text(provider, "a") == "0123456789")
        }
    }

    @Test(
        "a copy that the store refuses to make is uploaded",
        arguments: [FileProviderError.Code.unsupported, .versionMismatch, .cannotSynchronize])
    func refused(_ code: FileProviderError.Code) async throws {
        let provider = AbleProvider()
        provider.controls.copyRefusal = code
        try provider.base.put("a", "contents")
        try await withServed(provider) { served in
            try served.run("cp a b")
            try served.sync()
            #expect(provider.controls.copies == ["b"] && provider.controls.uploads == ["b"])
            #expect(Self.text(provider, "b") == "contents")
        }
    }

    @Test("a lost reply is not a conflict") func lostReply() async throws {
        let provider = AbleProvider()
        provider.controls.losesReplies = 1
        try provider.base.put("a", "contents")
        try await withServed(provider) { served in
            try served.run("cp a b")
            try served.sync()
            #expect(provider.base.snapshot().keys.sorted() == ["a", "b"])
            #expect(try served.run("ls") == "a\nb")
            #expect(provider.controls.uploads.isEmpty)
        }
    }
}

@Suite("Size and use of the store") struct QuotaTests {
    private static func space(_ served: ServedDomain) throws -> (total: Int64, free: Int64, available: Int64) {
        let numbers = try served.run("stat -f -c '%b %f %a %S' .").split(separator: " ").compactMap { Int64($0) }
        return (numbers[0] * numbers[3], numbers[1] * numbers[3], numbers[2] * numbers[3])
    }

    @Test("df and status show size and use, and follow uploads") func shown() async throws {
        let provider = AbleProvider()
        provider.controls.quota = StoreQuota(used: 1 << 30, total: 3 << 30)
        try await withServed(provider) { served in
            try waitUntil(10, "the provider was asked") { try Self.space(served).total == 3 << 30 }
            let space = try Self.space(served)
            #expect(space.free == 2 << 30)
            #expect(space.available <= 2 << 30 && space.available > 0)
            let status = try served.hydrant("status")
            #expect(status.stdout.contains("1.0 GiB of 3.0 GiB used in the store"), "\(status)")
            provider.controls.quota = StoreQuota(used: 3 << 30, total: 3 << 30)
            try served.run("echo new >new")
            try served.sync()
            try waitUntil(10, "it is full") { try Self.space(served).available == 0 }
        }
    }

    @Test("without a quota, df is bounded by the local disk") func unlimited() async throws {
        let provider = AbleProvider()
        provider.controls.quota = StoreQuota(used: 5 << 40, total: nil)
        try await withServed(provider) { served in
            try waitUntil(10, "the provider was asked") { try Self.space(served).total > 5 << 40 }
            let space = try Self.space(served)
            let local = try Int64(served.run("stat -f -c %a \"$SCRATCH\""))!
            #expect(space.available > 0 && abs(space.available / 4096 - local) < local / 5 + 1_000_000)
            #expect(abs(space.total - space.free - 5 << 40) < 1 << 20)
        }
    }

    @Test("a full store is reported") func full() async throws {
        let provider = AbleProvider()
        provider.controls.quota = StoreQuota(used: 1_000, total: 1_000)
        provider.controls.uploadRefusal = .insufficientQuota
        try await withServed(provider) { served in
            try served.run("echo x >a")
            try waitUntil(10, "status says so") {
                let text = try served.hydrant("status").stdout
                return text.contains("the store has no room for it") && text.contains("1000 of 1000 bytes are used")
            }
            provider.controls.uploadRefusal = nil
            try served.sync()
            #expect(provider.base.read("a") == Array("x\n".utf8))
        }
    }

    @Test("impossible numbers are not believed") func impossible() async throws {
        let provider = AbleProvider()
        provider.controls.quota = StoreQuota(used: -1, total: -5)
        try await withServed(provider) { served in
            try served.run("ls; df . >/dev/null; echo x >a")
            try served.sync()
            #expect(try Self.space(served).total > 0)
        }
    }
}

@Suite("Thumbnails") struct ThumbnailTests {
    /// A grey pixel: a PNG that Python's zlib made.
    static let png = [UInt8](
        Data(
            base64Encoded:
                "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==")!)

    @Test("thumbnails come without the document, into the cache of file managers") func cached() async throws {
        let provider = AbleProvider()
        provider.controls.thumbnail = Self.png
        let name = "a photo; (1).jpg"
        try provider.base.put(name, "not downloaded", modified: FileTime(seconds: 1_500_000_000))
        try await withServed(provider) { served in
            let cache = served.sandbox.scratch + "/cache"
            let document = served.sandbox.mountPoint + "/" + name
            let output = served.sandbox.scratch + "/out.png"
            let result = try served.hydrant(
                "thumbnail", document, "--size", "200", "-o", output, environment: ["XDG_CACHE_HOME": cache])
            #expect(result.succeeded, "\(result)")
            #expect(provider.controls.thumbnailSizes == [200])
            #expect(provider.base.calls(of: .startProvidingItem).isEmpty)
            #expect(FileManager.default.contents(atPath: output) == Data(Self.png))
            let uri = "file://\(served.sandbox.mountPoint)/a%20photo%3B%20(1).jpg"
            let digest = Insecure.MD5.hash(data: Data(uri.utf8)).map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
            let path = "\(cache)/thumbnails/normal/\(digest.joined()).png"
            #expect(result.lines.last == path)
            // As a reader of PNG finds them, with checksums that are right.
            let script = """
                import struct, sys, zlib
                d = open(sys.argv[1], 'rb').read()
                assert d[:8] == b'\\x89PNG\\r\\n\\x1a\\n'
                p = 8
                while p < len(d):
                    n, = struct.unpack('>I', d[p:p+4]); t = d[p+4:p+8]; c = d[p+8:p+8+n]
                    assert struct.unpack('>I', d[p+8+n:p+12+n])[0] == zlib.crc32(t + c), t
                    if t == b'tEXt': print(c.replace(b'\\0', b' ').decode())
                    p += 12 + n
                """
            let texts = try served.sandbox.run(["python3", "-c", script, path], limit: 20)
            #expect(texts.lines == ["Thumb::URI \(uri)", "Thumb::MTime 1500000000", "Software hydrant"], "\(texts)")
            #expect(try served.run("stat -c %a '\(path)' '\(cache)/thumbnails/normal'") == "600\n700")
        }
    }

    @Test("a missing thumbnail is reported in one clear line") func refused() async throws {
        let provider = AbleProvider()
        try provider.base.put("doc", "D")
        try await withServed(provider) { served in
            let mount = served.sandbox.mountPoint
            func line(_ arguments: String...) throws -> String {
                let result = try served.sandbox.run(
                    [Sandbox.executable, "thumbnail"] + arguments,
                    environment: ["XDG_CACHE_HOME": served.sandbox.scratch + "/cache"], limit: 20)
                #expect(result.status != 0 && result.stdout.isEmpty)
                return result.stderr.trimmingCharacters(in: .newlines)
            }
            #expect(try line(mount + "/doc") == "hydrant: \(mount)/doc: there is no thumbnail of it")
            provider.controls.thumbnail = Array("\u{FF}\u{D8} a JPEG".utf8)
            #expect(try line(mount + "/doc").hasSuffix("get it with -o FILE"))
            provider.controls.thumbnail = Array(Self.png.dropLast(3))
            #expect(try line(mount + "/doc").hasSuffix("get it with -o FILE"))
            #expect(try line(mount).contains("is not a document"))
            #expect(try line(mount + "/doc", "--size", "5000").contains("choose 16 to 1024"))
            try served.run("echo local >new")
            #expect(!FileManager.default.fileExists(atPath: served.sandbox.scratch + "/cache"))
        }
        let silent = SilentProvider()
        try silent.base.put("doc", "D")
        try await withServed(silent) { served in
            let result = try served.hydrant("thumbnail", served.sandbox.mountPoint + "/doc")
            #expect(result.status == 1 && result.stderr.contains("its provider makes no thumbnails"))
        }
    }
}

@Suite("Favourites of the store") struct FavoriteTests {
    private static let set =
        "set() { python3 -c 'import os, sys; os.setxattr(sys.argv[1], \"user.hydrant.favorite\", "
        + "sys.argv[2].encode())' \"$1\" \"$2\"; }\n"
    private static let get =
        "get() { python3 -c 'import os, sys; print(os.getxattr(sys.argv[1], "
        + "\"user.hydrant.favorite\").decode())' \"$1\"; }\n"

    @Test("a mark is sent together with other metadata and with contents, and loses to nothing") func sent()
        async throws
    {
        let provider = InMemoryProvider(features: [.favorites])
        try provider.put("a", "one")
        try provider.put("b", "two")
        try await withServed(provider) { served in
            try served.run(
                Self.set + "ls; set a 1; chmod 600 a; echo more >>b; set b 1; mkdir d; set d 1; echo new >c; set c 1")
            try served.sync()
            for name in ["a", "b", "c", "d"] { #expect(provider.item(at: name)?.isFavorite == true, "\(name)") }
            #expect(provider.item(at: "a")?.posixPermissions == 0o600)
            #expect(provider.read("b").map { String(decoding: $0, as: UTF8.self) } == "twomore\n")
            #expect(provider.calls(of: .setFavorite).count == 4)
            // A wish that is taken back before it is sent, and one for what is already so, ask for nothing.
            #expect(try served.run(Self.set + Self.get + "set a 0; set a 1; set b 1; get a; get b") == "1\n1")
            try served.sync()
            #expect(provider.item(at: "a")?.isFavorite == true && provider.item(at: "b")?.isFavorite == true)
            #expect(try served.run(Self.set + Self.get + "set b 0; get b") == "0")
            try served.sync()
            #expect(provider.item(at: "b")?.isFavorite == false)
            #expect(try served.run("ls") == "a\nb\nc\nd")
        }
    }

    @Test("a mark that the store refuses stays pending, and can be discarded") func refused() async throws {
        let provider = FaultInjectingProvider(InMemoryProvider(features: [.favorites]))
        try provider.base.put("a", "one")
        provider.plan.fail(.setFavorite, times: 1_000, with: .permissionDenied)
        try await withServed(provider) { served in
            try served.run(Self.set + "ls; set a 1")
            try waitUntil(10, "it was refused") { try served.hydrant("status").stdout.contains("ask for permission") }
            #expect(try served.run(Self.get + "get a") == "1")
            let discarded = try served.hydrant("discard", "--yes", served.sandbox.mountPoint + "/a")
            #expect(discarded.succeeded, "\(discarded)")
            #expect(try served.run(Self.get + "get a") == "0")
            #expect(provider.base.item(at: "a")?.isFavorite == false)
        }
    }
}
