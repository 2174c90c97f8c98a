import FileProvider
import MountHarness
import Testing

@testable import hydrant_provider_zip

@Suite("A ZIP archive that lies")
struct HostileArchiveTests {
    @Test("names lead nowhere but into the archive; of two at one place one is shown, always the same")
    func names() async throws {
        try await withArchives { archives in
            try archives.python(
                """
                make("a.zip", ("../up", b"1"), ("a/../../up", b"1"), ("/etc/absolute", b"1"), ("//x", b"1"), ("b/..", b"1"),
                    ("b//c", b"2"), ("./d/./e", b"3"), ("nulX", b"1"), ("nulX\\u00e9", b"1"), ("long" * 64, b"1"),
                    ("/".join("x" * 300), b"1"), ("y" * 5000, b"1"), ("twice", b"4"), ("twice", b"5"),
                    ("both", b"1"), ("both/in", b"6"), ("both2/in", b"7"), ("both2", b"1"),
                    (info("way", 0o120777), b"/etc"), ("way/in", b"8"), (info("pipe", 0o010644), b""),
                    (info("nowhere", 0o120777), b""), (info("cut", 0o120777), b"a\\0b"), (info("far", 0o120777), b"x" * 5000),
                    (info("dir", 0o040755), b""), (".", b"1"), ("/", b"1"), ("fine", b"9"))
                patch("a.zip", b"nulX", b"nul\\0")
                """)
            let provider = try archives.provider("a.zip")
            let tree = try archives.tree(provider)
            #expect(
                tree.keys.sorted() == [
                    "b/", "b/c", "both/", "both/in", "both2/", "both2/in", "d/", "d/e", "dir/", "fine", "nul ",
                    "nul \u{e9}", "twice", "way/",
                    "way/in",
                ])
            #expect(try archives.download(provider, #require(tree["twice"])) == Array("5".utf8))
            #expect(try archives.download(provider, #require(tree["way/in"])) == Array("8".utf8))
            #expect(try archives.tree(try archives.provider("a.zip")) == tree)
        }
    }

    @Test("a size that is not true is an error, and not a byte more than promised", arguments: [true, false])
    func sizes(isPacked: Bool) async throws {
        try await withArchives { archives in
            let packed = isPacked ? "True" : "False"
            for (says, size) in [("less", 100_000), ("more", 900_000), ("nothing", 0)] {
                try archives.python(
                    """
                    make("\(says).zip", (info("lie", packed=\(packed)), b"bomb" * 125000), ("ok", b"fine"))
                    central("\(says).zip", b"lie", 24, struct.pack("<L", \(size)))
                    """)
                let provider = try archives.provider("\(says).zip")
                let tree = try archives.tree(provider)
                let lie = try #require(tree["lie"])
                #expect(lie.size == Int64(size))
                #expect(try archives.download(provider, #require(tree["ok"])) == Array("fine".utf8))
                guard size > 0 else { continue }
                #expect(archives.failure(provider, lie)?.message.contains("lie: is damaged") == true)
            }
        }
    }

    @Test("what packs to a thousandth is shown with its size, and read in pieces")
    func bomb() async throws {
        try await withArchives { archives in
            try archives.python(
                """
                with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as file, file.open("zeros", "w") as entry:
                    for _ in range(32): entry.write(bytes(1 << 20))
                """)
            let provider = try archives.provider("a.zip")
            let zeros = try #require(try archives.tree(provider)["zeros"])
            #expect(zeros.size == 32 << 20)
            #expect(
                try archives.download(provider, zeros, (32 << 20) - 10..<32 << 20) == Array(repeating: 0, count: 10))
        }
    }

    @Test("damaged contents are an error that names the document; the others can be read")
    func damaged() async throws {
        try await withArchives { archives in
            try archives.python(
                """
                make("a.zip", (info("bad", packed=False), b"these are the bytes" * 999), ("good", b"fine"))
                patch("a.zip", b"these are the bytes", b"those are the bytes")
                make("b.zip", ("unknown", b"x"))
                central("b.zip", b"unknown", 10, struct.pack("<H", 98))
                """)
            let provider = try archives.provider("a.zip")
            let tree = try archives.tree(provider)
            let error = archives.failure(provider, try #require(tree["bad"]))
            #expect(error?.code == .cannotSynchronize && error?.message.contains("a.zip: bad: is damaged") == true)
            #expect(try archives.download(provider, #require(tree["good"])) == Array("fine".utf8))
            let other = try archives.provider("b.zip")
            let unknown = archives.failure(other, try #require(try archives.tree(other)["unknown"]))
            #expect(unknown?.code == .unsupported && unknown?.message.contains("b.zip: unknown: is packed") == true)
        }
    }

    @Test("an encrypted document is shown, and refused with what to do")
    func encrypted() async throws {
        try await withArchives { archives in
            try archives.python(
                """
                make("a.zip", ("secret", b"x" * 99), ("plain", b"fine"), (info("link", 0o120777), b"plain"))
                central("a.zip", b"secret", 8, b"\\1\\0")
                central("a.zip", b"link", 8, b"\\1\\0")
                """)
            let provider = try archives.provider("a.zip")
            let tree = try archives.tree(provider)
            #expect(tree.keys.sorted() == ["plain", "secret"])
            let error = archives.failure(provider, try #require(tree["secret"]))
            #expect(error?.code == .unsupported && error?.message.contains("secret: is encrypted") == true)
            #expect(try archives.download(provider, #require(tree["plain"])) == Array("fine".utf8))
        }
    }
}
