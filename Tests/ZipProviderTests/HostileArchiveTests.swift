import FileProvider
import Glibc
import MountHarness
import Testing

@testable import hydrant_provider_zip

@Suite("A malformed ZIP archive")
struct HostileArchiveTests {
    @Test("names lead nowhere but into the archive; of two items at one place always the same one is shown")
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

    /// 4 KB of a name each, in 75,000 folders that have no entries: whole paths of them would be 150 MB, and sorting those
    /// takes minutes.
    @Test("the cost of names grows with the names, not with their whole paths", .timeLimit(.minutes(1)))
    func deep() async throws {
        try await withArchives { archives in
            try archives.python(
                """
                make("a.zip", *((f"{number:014}/" + "/".join(["d" * 15] * 253) + "/f", b"%d" % number) for number in range(300)))
                """)
            let provider = try archives.provider("a.zip")
            let tops = try blocking { try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items }
            #expect(
                tops.map(\.filename.string)
                    == (0..<300).map { String(repeating: "0", count: 14 - "\($0)".count) + "\($0)" })
            let found = try blocking {
                var item = tops[217]
                var depth = 1
                while item.kind.isFolder {
                    let inside = try await provider.enumerateItems(in: item.identifier, startingAt: nil).items
                    #expect(inside.count == 1 && inside[0].parentIdentifier == item.identifier)
                    item = inside[0]
                    #expect(try await provider.providePlaceholder(for: item.identifier) == item)
                    depth += 1
                }
                return (item, depth)
            }
            #expect(found.1 == 255 && found.0.filename == "f")
            #expect(try archives.download(provider, found.0) == Array("217".utf8))
        }
    }

    @Test("items that need too many unlisted folders are left out, with a message")
    func impliedFolders() throws {
        func entry(_ index: Int, _ name: String, _ kind: ArchiveEntry.Kind = .document) -> ArchiveEntry {
            ArchiveEntry(
                index: UInt64(index), name: Array(name.utf8), kind: kind, size: 1, checksum: 0,
                modified: FileTime(seconds: 1), permissions: nil, isStored: true, isEncrypted: false)
        }
        func tree(_ names: (String, ArchiveEntry.Kind)...) -> ArchiveTree {
            ArchiveTree(
                entries: names.enumerated().map { entry($0, $1.0, $1.1) }, stamp: ArchiveStamp(stat()),
                bounds: ArchiveTree.Bounds(folders: 4, targets: 10)
            ) { entry throws(FileProviderError) in entry.name }
        }
        func names(_ tree: ArchiveTree, _ folder: ItemIdentifier = .rootContainer) -> [String] {
            tree.items(in: folder).flatMap { item in
                [item.filename.string] + names(tree, item.identifier).map { "\(item.filename.string)/\($0)" }
            }
        }
        // The third needs two where one is left, and makes none.
        let full = tree(
            ("a/b/c", .document), ("x/f", .document), ("p/q/f", .document), ("a/g", .document), ("y/f", .document))
        #expect(names(full) == ["a", "a/b", "a/b/c", "a/g", "x", "x/f", "y", "y/f"])
        #expect(full.omissions.count == 1 && full.omissions[0].hasPrefix("p/q/f: the archive has more than"))
        // Those that it names do not count, whenever they come.
        let named = tree(
            ("a/b/c", .document), ("a", .folder), ("a/b", .folder), ("1/2/3/4/f", .document), ("z/f", .document))
        #expect(named.omissions.count == 1 && named.omissions[0].hasPrefix("z/f: "))
        #expect(names(named).contains("1/2/3/4/f"))
        // A document whose name is a folder's later gives way; it is one more.
        let both = tree(("a", .document), ("a/b/c/d/e", .document), ("f/g", .document))
        #expect(names(both) == ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e"])
        #expect(both.omissions == ["a: it has the name of a folder", both.omissions[1]] && both.omissionCount == 2)
        // Where links lead, together.
        let links = tree(("12345", .link), ("123456", .link), ("1234", .link))
        #expect(names(links) == ["12345"] && links.omissionCount == 2)
    }

    @Test("a wrong size is an error, and gives no byte beyond that size", arguments: [true, false])
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

    @Test("a document packed to a thousandth is shown with its size, and read in pieces")
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

    @Test("damaged contents are an error that names the document; the other documents can be read")
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
            #expect(
                unknown?.code == .unsupported
                    && unknown?.message.contains("b.zip: unknown: uses an unsupported") == true)
        }
    }

    @Test("an encrypted document is shown; reading it is refused with a remedy")
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
