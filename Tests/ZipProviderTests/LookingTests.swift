import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import Testing

@testable import hydrant_provider_zip

@Suite("A ZIP archive: listing")
struct LookingTests {
    @Test("the provider keeps the contract")
    func conformance() async throws {
        try await withArchives { archives in
            try archives.python(
                """
                make("a.zip", ("empty", b""), ("packed", b"text " * 99999), (info("stored", packed=False), noise(300000)),
                    ("folder/sub/deep", b"deep"), ("empty folder/", b""), (info("link", 0o120777), b"packed"))
                """)
            let provider = try archives.provider("a.zip")
            let report = try blocking { await ConformanceSuite(provider: provider).run() }
            #expect(report.isPassed, "\(report)")
        }
    }

    @Test("folders, documents and links; sizes, dates and modes")
    func items() async throws {
        try await withArchives { archives in
            try archives.python(
                """
                time = struct.pack("<HHBl", 0x5455, 5, 1, 1234567891)
                make("a.zip", (info("docs/", 0o040750), b""), (info("docs/a.txt", 0o100604), b"hello"),
                    (info("run", 0o104755, extra=time), b"#!"), ("by/prefix/only", b"x"),
                    (info("link", 0o120777), b"docs/a.txt"), (info("old", extra=struct.pack("<HHBl", 0x5455, 5, 1, -2)), b""))
                dos = info("dos"); dos.create_system = 0
                make("dos.zip", (dos, b""))
                """)
            let tree = try archives.tree(try archives.provider("a.zip"))
            #expect(
                tree.keys.sorted() == [
                    "by/", "by/prefix/", "by/prefix/only", "docs/", "docs/a.txt", "link", "old", "run",
                ])
            let text = try #require(tree["docs/a.txt"])
            #expect(text.size == 5 && text.posixPermissions == 0o604 && text.kind == .document)
            let date = text.contentModificationDate.seconds + Int64(TimeZone.current.secondsFromGMT())
            #expect(abs(date - 1_577_934_246) <= 3_600)
            #expect(tree["docs/"]?.posixPermissions == 0o750 && tree["docs/"]?.size == 0)
            #expect(tree["by/"]?.posixPermissions == nil)
            // Nobody gets rights from an archive.
            #expect(tree["run"]?.posixPermissions == 0o755)
            #expect(tree["run"]?.contentModificationDate == FileTime(seconds: 1_234_567_891))
            #expect(tree["old"]?.contentModificationDate == FileTime(seconds: -2))
            #expect(tree["link"]?.kind == .symbolicLink(target: Array("docs/a.txt".utf8)))
            #expect(try archives.tree(try archives.provider("dos.zip"))["dos"]?.posixPermissions == nil)
        }
    }

    @Test("names are the archive's bytes, so two that only look the same differ")
    func names() async throws {
        try await withArchives { archives in
            try archives.python(
                """
                make("a.zip", ("raw-X", b"1"), ("ra%2DX", b"2"), ("caf\\u00e9", b"3"), ("cafe\\u0301", b"4"), ("d\\u00e9/x", b"5"),
                    ("de\\u0301/x", b"6"), ("l/" + "/".join(["long" * 50] * 8), b"7"), ("back\\\\slash", b"8"))
                patch("a.zip", b"raw-X", b"raw-\\xe9")
                """)
            let provider = try archives.provider("a.zip")
            let items = try blocking { try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items }
            let names = Set(items.map(\.filename.bytes))
            #expect(
                names.isSuperset(of: [Array("raw-".utf8) + [0xe9], Array("caf\u{e9}".utf8), Array("cafe\u{301}".utf8)]))
            #expect(names.count == 8 && Set(items.map(\.identifier)).count == 8)
            var folder = try #require(items.first { $0.filename == "l" }).identifier
            for _ in 0..<7 {
                let inside = try blocking { [folder] in
                    try await provider.enumerateItems(in: folder, startingAt: nil).items
                }
                folder = try #require(inside.first).identifier
                #expect(folder.rawValue.utf8.count <= 1_024)
            }
            let deepest = try blocking { [folder] in
                try await provider.enumerateItems(in: folder, startingAt: nil).items
            }
            #expect(try archives.download(provider, #require(deepest.first)) == Array("7".utf8))
        }
    }

    @Test(
        "an archive of Info-ZIP: modes, links and dates to the second", .enabled(if: access("/usr/bin/zip", X_OK) == 0))
    func infoZIP() async throws {
        try await withArchives { archives in
            try archives.sandbox.run(
                """
                mkdir "$SCRATCH/in"; cd "$SCRATCH/in"; mkdir -m 711 d; echo text > d/t; chmod 640 d/t; ln -s d/t l
                touch -d @1500000001 d/t; zip -q -r --symlinks ../a.zip .
                """)
            let provider = try archives.provider("a.zip")
            let tree = try archives.tree(provider)
            #expect(tree.keys.sorted() == ["d/", "d/t", "l"])
            let text = try #require(tree["d/t"])
            #expect(text.posixPermissions == 0o640 && tree["d/"]?.posixPermissions == 0o711)
            #expect(text.contentModificationDate == FileTime(seconds: 1_500_000_001))
            #expect(tree["l"]?.kind == .symbolicLink(target: Array("d/t".utf8)))
            #expect(try archives.download(provider, text) == Array("text\n".utf8))
        }
    }

    @Test("an archive that cannot be opened is reported in one line that names it")
    func refused() async throws {
        try await withArchives { archives in
            try archives.python(
                """
                make("whole.zip", ("a", noise(9000)), ("b", noise(9000)))
                write("cut.zip", read("whole.zip")[:12000])
                write("text.zip", b"I am a text that is long enough for the record at the end of an archive.")
                write("empty.zip", b"")
                write("short.zip", b"PK")
                os.mkdir("folder.zip")
                os.mkfifo("pipe.zip")
                """)
            for (name, says) in [
                ("missing.zip", "there is no such archive"), ("cut.zip", "cut off"), ("text.zip", "not a ZIP archive"),
                ("empty.zip", "not a ZIP archive"), ("short.zip", "not a ZIP archive"), ("folder.zip", "is not a file"),
                ("pipe.zip", "is not a file"),
            ] {
                let error = #expect(throws: FileProviderError.self) { try archives.provider(name) }
                let message = error?.message ?? ""
                #expect(message.hasPrefix(archives.path(name)) && message.contains(says) && !message.contains("\n"))
            }
            try archives.python(#"make("none.zip")"#)
            #expect(try archives.tree(try archives.provider("none.zip")).isEmpty)
        }
    }
}
