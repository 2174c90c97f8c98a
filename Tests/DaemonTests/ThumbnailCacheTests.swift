import ContentStore
import Foundation
import Pictures
import Testing

@testable import Daemon

/// The user's cache of thumbnails, what a domain has put there, and the desktop's thumbnailers.
@Suite("The cache of thumbnails") final class ThumbnailCacheTests {
    private let folder: String

    init() throws {
        var template = Array("/tmp/hydrant-thumbnails.XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// 64 × 64 pixels, made with Python's zlib.
    static let picture = Data(
        base64Encoded: """
            iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAATElEQVR42u3PQQkAAAgEsItucy+Cb2GwAstOXouAgICAgICAgICAgICAgICA\
            gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAwKX5gfFaZ4bdfwAAAABJRU5ErkJggg==
            """)!

    @Test("a picture is scaled down in proportion, never up; a damaged picture is refused")
    func rasters() throws {
        let raster = try #require(Raster(Self.picture))
        #expect(raster.width == 64 && raster.height == 64)
        #expect(raster.fitting(1_024) === raster)
        let small = try #require(raster.fitting(48)?.png.flatMap { PNGPicture($0) })
        #expect(small.width == 48 && small.height == 48)
        #expect(Raster(Self.picture, mostPixels: 63) == nil)
        #expect(Raster(Self.picture.dropLast(1)) == nil)
        var damaged = Self.picture
        damaged[damaged.count / 2] ^= 1
        #expect(Raster(damaged) == nil)
        #expect(Raster(Data([0xff, 0xd8, 0xff])) == nil && Raster(Data()) == nil)
    }

    @Test("a damaged JPEG shows its readable part; without one there is no picture")
    func damagedJPEG() throws {
        // Progressive, of 16 × 16 pixels (libturbojpeg), the first scan without its bytes; then the rest, or a process that no
        // decoder has.
        let start = """
            /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1R\
            V19iZ2hnPk1xeXBkeFxlZ2P/wgALCAAQABABAREA/8QAFQABAQAAAAAAAAAAAAAAAAAAAwT/2gAIAQEAAAAB/8
            """
        let rest = """
            QAGBAAAwEBAAAAAAAAAAAAAAAAAAECAxH/2gAIAQEAAQUCjMmDiRe5/8QAFxAAAwEAAAAAAAAAAAAAAAAAABAikf/aAAgBAQ\
            AGPwJzp//EABsQAQEAAQUAAAAAAAAAAAAAAAEAETFBUWHR/9oACAEBAAE/IYE1gOVA5bAbe/l//9oACAEBAAAAED//xAAaEA\
            EAAgMBAAAAAAAAAAAAAAABADERIXHw/9oACAEBAAE/EKdQkRHIFbYCAgb0m+ecn//Z
            """
        #expect(Raster(try #require(Data(base64Encoded: start + rest)))?.pixel(15, 15)[3] == 255)
        #expect(Raster(try #require(Data(base64Encoded: start + "MACwgAEAAQAQERAA=="))) == nil)
    }

    @Test("each pixel is the mean of the pixels that it replaces; transparent pixels do not affect the colour")
    func shrinking() throws {
        // Two pixels, red that is seen and blue that is not: made with Python's zlib.
        let data = try #require(
            Data(
                base64Encoded:
                    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAYAAAD0In+KAAAADUlEQVR4nGP4z8AARgAO+gL+9R5MqQAAAABJRU5ErkJggg=="))
        let raster = try #require(Raster(data))
        let png = try #require(raster.fitting(1)?.png)
        let back = try #require(Raster(png))
        #expect(back.pixel(0, 0) == [255, 0, 0, 128])
    }

    @Test("a thumbnail is found in each size, only for the date that it was stored with")
    func installing() throws {
        let cache = ThumbnailCache(folder: folder)
        let (uri, raster) = ("file:///m/a", try #require(Raster(Self.picture)))
        #expect(try cache.install(raster, of: uri, modified: 7) > 0)
        for size in ThumbnailCache.Size.allCases {
            #expect(cache.has(uri, modified: 7, size) && !cache.has(uri, modified: 8, size))
            #expect(!cache.has("file:///m/b", modified: 7, size))
        }
        // Not another document's that lies there by now, and not that of other contents.
        #expect(!cache.move(uri, to: "file:///m/b", modified: 8) && cache.has(uri, modified: 7, .normal))
        let others = try #require(PNGPicture(Self.picture)).data(
            with: [("Thumb::URI", "file:///m/c"), ("Thumb::MTime", "7"), ("Software", "hydrant")])
        try others.write(to: URL(filePath: cache.path(of: "file:///m/d", .normal), directoryHint: .notDirectory))
        #expect(!cache.move("file:///m/d", to: "file:///m/b", modified: 7))
        #expect(cache.move(uri, to: "file:///m/b", modified: 7))
        #expect(!cache.has(uri, modified: 7, .normal) && cache.has("file:///m/b", modified: 7, .xxLarge))
        cache.remove("file:///m/b")
        #expect(!cache.has("file:///m/b", modified: 7, .normal))
        // A file manager's own is none of ours.
        let other = cache.path(of: uri, .normal)
        try #require(PNGPicture(Self.picture)).data(with: [("Thumb::URI", uri), ("Thumb::MTime", "7")])
            .write(to: URL(filePath: other, directoryHint: .notDirectory))
        cache.remove(uri)
        #expect(cache.has(uri, modified: 7, .normal))
        _ = try cache.installFailure(of: uri, modified: 7)
        #expect(cache.hasFailed(uri, modified: 7) && !cache.hasFailed(uri, modified: 8))
    }

    @Test("the ledger of a domain's thumbnails survives a restart, and is bounded")
    func ledger() throws {
        func entry(_ inode: Int64, bytes: Int64 = 10) -> ThumbnailLedger.Entry {
            ThumbnailLedger.Entry(
                inode: inode, uri: "file:///m/\(inode)", modified: 1, nanoseconds: 1_000_000_000, size: 5, bytes: bytes)
        }
        let ledger = ThumbnailLedger(stateDirectory: folder)
        for inode in 1...3 as ClosedRange<Int64> { #expect(ledger.put(entry(inode)).isEmpty) }
        ledger.remove(entry(2))
        // One that was renamed: its old name goes from the cache.
        var renamed = entry(3)
        renamed.uri = "file:///m/other"
        #expect(ledger.put(renamed) == [entry(3)])
        let file = try FileHandle(
            forWritingTo: URL(filePath: folder + "/thumbnails.jsonl", directoryHint: .notDirectory))
        try file.seekToEnd()
        try file.write(contentsOf: Data("{\"half a li".utf8))
        try file.close()
        let again = ThumbnailLedger(stateDirectory: folder)
        #expect(Set(again.all.map(\.uri)) == ["file:///m/1", "file:///m/other"])
        // One that is renamed to where another was: that one's picture is no more.
        var over = entry(3)
        over.uri = "file:///m/1"
        #expect(again.put(over).map(\.uri) == ["file:///m/other"] && again.entry(at: over.uri) == over)
        #expect(ThumbnailLedger(stateDirectory: folder).all == [over])
        #expect(again.put(entry(1)).isEmpty)
        let gone = again.put(entry(9, bytes: ThumbnailLedger.mostBytes))
        #expect(Set(gone.map(\.inode)).isSuperset(of: [1]))
    }

    @Test("a thumbnailer's file is read as desktops read it")
    func files() throws {
        func program(_ lines: String...) -> DesktopThumbnailers.Program? {
            DesktopThumbnailers.program(lines.joined(separator: "\n"), named: "x")
        }
        let plain = program(
            "# a comment", "[Thumbnailer Entry]", "TryExec=sh", "Exec=sh -s %s \"%u\" '%o'",
            "MimeType=Image/PNG;image/x;")
        #expect(plain?.words == ["sh", "-s", "%s", "%u", "'%o'"] && plain?.mimeTypes == ["image/png", "image/x"])
        #expect(program("[Thumbnailer Entry]", "Exec=\"/bin/s\\h\" %i %o")?.words == ["/bin/sh", "%i", "%o"])
        // Not installed, nothing to read or write, a quote without an end, another group.
        #expect(program("[Thumbnailer Entry]", "TryExec=no-such-program", "Exec=sh %i %o") == nil)
        #expect(program("[Thumbnailer Entry]", "Exec=no-such-program %i %o") == nil)
        #expect(program("[Thumbnailer Entry]", "Exec=sh %i") == nil)
        #expect(program("[Thumbnailer Entry]", "Exec=sh %o") == nil)
        #expect(program("[Thumbnailer Entry]", "Exec=sh \"%i %o") == nil)
        #expect(program("[Desktop Entry]", "Exec=sh %i %o") == nil)
    }

    @Test(
        "a thumbnailer is limited in time, memory and output, and leaves nothing behind",
        arguments: [
            ("cp \"$1\" \"$2\"", true), ("sleep 600", false),
            ("exec 2>/dev/null; python3 -c 'bytearray(1 << 33)'; cp \"$1\" \"$2\"", true),
            ("python3 -c 'bytearray(1 << 33)' 2>/dev/null && cp \"$1\" \"$2\"", false),
            ("head -c 100000000 /dev/zero >\"$2\"", false), ("ln -s /etc/passwd \"$2\"", false),
            ("echo x >\"$2\"", false), ("exit 3", false), ("sleep 5 & cp \"$1\" \"$2\"", true),
        ])
    func bounds(_ script: String, _ succeeds: Bool) async throws {
        let store = try ContentStore(directory: folder + "/content")
        let content = try store.open(
            GenerationID(inode: 1, number: 1), size: 0, baseSize: 0, present: nil)
        Self.picture.withUnsafeBytes { buffer in
            #expect(pwrite(content.descriptor, buffer.baseAddress, buffer.count, 0) == buffer.count)
        }
        // Short only for the one that never ends: on a busy machine Python alone takes seconds to start.
        let run = ThumbnailerRun(stateDirectory: folder, limit: script == "sleep 600" ? .seconds(3) : .seconds(60))
        let program = DesktopThumbnailers.Program(
            name: "test", words: ["sh", "-c", script, "sh", "%i", "%o"], mimeTypes: [])
        let start = ContinuousClock.now
        let raster = try run.picture(of: content, named: "a document.png", by: program)
        #expect((raster != nil) == succeeds)
        #expect(start.duration(to: .now) < .seconds(300))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/thumbnailer").isEmpty)
    }

    @Test("a thumbnailer gets a copy, so it cannot change the document, whatever the document's name")
    func copies() throws {
        let store = try ContentStore(directory: folder + "/content")
        let content = try store.open(
            GenerationID(inode: 1, number: 1), size: 0, baseSize: 0, present: nil)
        Self.picture.withUnsafeBytes { buffer in
            #expect(pwrite(content.descriptor, buffer.baseAddress, buffer.count, 0) == buffer.count)
        }
        let run = ThumbnailerRun(stateDirectory: folder, limit: .seconds(60))
        let script = "cp \"$1\" \"$2\"; echo damaged >>\"$1\"; echo damaged >\"$1\"; : >\"$1\""
        let program = DesktopThumbnailers.Program(
            name: "test", words: ["sh", "-c", script, "sh", "%i", "%o"], mimeTypes: [])
        for name in [".hydrant-output.png", "picture.png", "out", "in"] {
            #expect(try run.picture(of: content, named: name, by: program) != nil, "\(name)")
            let now = FileManager.default.contents(atPath: "/proc/self/fd/\(content.descriptor)")
            #expect(now == Self.picture, "\(name)")
        }
    }
}
