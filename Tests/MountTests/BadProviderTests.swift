import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import MountHarness
import SyncEngine
import Testing
import Trees
import Volume

/// A provider that cannot be right, as programs see it through the kernel.
@Suite("A bad provider at a real mount")
struct BadProviderTests {
    private static func entry(
        _ identifier: String, _ name: Filename, _ kind: ItemKind = .document, size: Int64 = 3,
        modified: FileTime = FileTime(seconds: 1_000)
    ) -> Item {
        Item(
            identifier: ItemIdentifier(identifier), parentIdentifier: .rootContainer, filename: name, kind: kind,
            size: size, contentModificationDate: modified,
            version: ItemVersion(content: ContentVersion("1"), metadata: MetadataVersion("1")))
    }

    private static func provider(_ lies: [Item]) throws -> ScriptedProvider {
        let provider = ScriptedProvider()
        try provider.base.put("honest", "honest")
        provider.edit {
            $0.listing = { items, folder, _ throws(FileProviderError) in
                ItemPage(items: folder == .rootContainer ? lies + items : items)
            }
        }
        return provider
    }

    @Test("impossible names, sizes and links: ls, find and cat see the rest, and nothing outside is touched")
    func names() async throws {
        let impossible = ["..", ".", "../escape", "a/b", "", "a\0b", String(repeating: "x", count: 256)]
        var lies = impossible.enumerated().map { Self.entry("\($0)", Filename($1)) }
        lies.append(Self.entry("s", "negative", size: -5))
        lies.append(Self.entry("t", "colossal", size: .max))
        lies.append(Self.entry("l", "link", .symbolicLink(target: [UInt8](repeating: 0x61, count: 5_000))))
        lies.append(Self.entry("n", "nul", .symbolicLink(target: [0x2f, 0, 0x61])))
        try await withServedMount(try Self.provider(lies)) { mount throws in
            #expect(try mount.run("ls -A; find . | sort; cat honest") == "honest\n.\n./honest\nhonest")
            #expect(try mount.run("ls -A ..") == mount.run("ls -A \"$MOUNT/..\""))
            let summary = try #require(mount.volume.engine.refused.summary(of: .root))
            #expect(summary.hasPrefix("11 entries of the store cannot be shown: "))
        }
    }

    @Test("strange names, dates and sizes are shown unchanged")
    func strange() async throws {
        let longest = String(repeating: "y", count: 255)
        let items = [
            Self.entry("1", Filename(longest)), Self.entry("2", Filename(bytes: [0xff, 0xfe])),
            Self.entry("3", "Case"), Self.entry("4", "case"), Self.entry("5", "e\u{301}"), Self.entry("6", "\u{e9}"),
            Self.entry("7", "early", modified: FileTime(nanoseconds: .min)),
            Self.entry("8", "late", modified: FileTime(nanoseconds: .max)),
            Self.entry("9", "huge", size: Item.largestSize),
        ]
        try await withServedMount(try Self.provider(items)) { mount throws in
            let shown = try mount.run(
                """
                python3 - <<'END'
                import os
                print(sorted(os.listdir(b".")))
                for name in ["early", "late"]: print(os.lstat(name).st_mtime_ns)
                print(os.lstat("huge").st_size)
                try:
                    with open("huge", "rb") as file:
                        file.seek(2**53 - 5)
                        file.read(100)
                except OSError: print("refused")
                END
                """)
            let names = (items.map(\.filename.bytes) + [Array("honest".utf8)])
            #expect(shown.contains(longest) && shown.contains("\\xff\\xfe") && names.count == 10)
            #expect(shown.contains("\(Int64.min)\n\(Int64.max)\n\(Item.largestSize)\nrefused\n"))
            #expect(try mount.run("ls | wc -l; cat honest") == "10\nhonest")
        }
    }

    @Test("a listing without an end gives EIO, and the mount goes on")
    func endless() async throws {
        let provider = try Self.provider([])
        try provider.base.put("folder/x", "x")
        let folder = provider.base.item(at: "folder")?.identifier
        provider.edit {
            $0.listing = { items, asked, page throws(FileProviderError) in
                if asked != folder { return ItemPage(items: items) }
                let next = (page?.bytes.count ?? 0) + 1
                return ItemPage(items: items, nextPage: Page(bytes: [UInt8](repeating: 1, count: next)))
            }
        }
        try await withServedMount(provider) { mount throws in
            let failed = try mount.shell("ls folder")
            #expect(failed.status != 0 && failed.stdout.contains("Input/output error"), "\(failed)")
            #expect(try mount.run("cat honest") == "honest")
        }
    }

    @Test("a folder inside itself: find ends")
    func inItself() async throws {
        let provider = try Self.provider([])
        let folder = try provider.base.mkdir("folder")
        provider.edit {
            $0.listing = { items, asked, _ throws(FileProviderError) in
                ItemPage(items: asked == .rootContainer ? items : items + [folder])
            }
        }
        try await withServedMount(provider) { mount throws in
            #expect(try mount.run("find . | sort") == ".\n./folder\n./honest\n")
        }
    }

    @Test("too few and too many bytes are an error for the reader, and do not get into the document")
    func bytes() async throws {
        let provider = try Self.provider([])
        try await withServedMount(provider) { mount throws in
            for bytes in [[UInt8](), Array("ho".utf8), Array("honest, and more".utf8)] {
                provider.edit {
                    $0.download = { _, sink async throws(FileProviderError) in try await sink.write(bytes, at: 0) }
                }
                let failed = try mount.shell("cat honest")
                #expect(failed.status != 0 && failed.stdout.contains("Input/output error"), "\(failed)")
            }
            provider.edit { $0.download = nil }
            #expect(try mount.run("cat honest") == "honest")
        }
    }
}
