import FileProvider
import FileProviderTesting
import Glibc
import ItemCatalog
import MountHarness
import SyncEngine
import Testing
import Trees
import Volume

/// A provider is not trusted: what it lists may be impossible. Nothing escapes the domain, the rest of the listing is
/// there, and a person can see what is missing and why.
@Suite(.timeLimit(.minutes(10))) struct BadListingTests {
    static func item(
        _ identifier: String, _ name: Filename, _ kind: ItemKind = .document, size: Int64 = 3,
        in folder: ItemIdentifier = .rootContainer, content: ContentVersion = ContentVersion("1"),
        modified: FileTime = FileTime(seconds: 1_000)
    ) -> Item {
        Item(
            identifier: ItemIdentifier(identifier), parentIdentifier: folder, filename: name, kind: kind, size: size,
            contentModificationDate: modified,
            version: ItemVersion(content: content, metadata: MetadataVersion("1")))
    }

    /// Adds entries to the topmost folder's listing.
    private static func provider(_ lies: [Item]) throws -> ScriptedProvider {
        let provider = ScriptedProvider()
        try provider.base.put("honest", "honest")
        try provider.base.mkdir("folder")
        provider.edit {
            $0.listing = { items, folder, _ throws(FileProviderError) in
                ItemPage(items: folder == .rootContainer ? lies + items : items)
            }
        }
        return provider
    }

    private static func names(_ store: InProcessStore, _ folder: FSPath = .root) throws -> Set<String> {
        Set(try store.files.list(folder).map { String(decoding: $0, as: UTF8.self) })
    }

    struct Lie: Sendable, CustomTestStringConvertible {
        var item: Item
        var reason: String
        var testDescription: String { reason }
    }

    static let lies: [Lie] = [
        Lie(item: item("1", ".."), reason: "the name is reserved"),
        Lie(item: item("1", "."), reason: "the name is reserved"),
        Lie(item: item("1", "../../etc/passwd"), reason: "the name contains a slash"),
        Lie(item: item("1", "a/b", .folder), reason: "the name contains a slash"),
        Lie(item: item("1", ""), reason: "the name is empty"),
        Lie(item: item("1", Filename(bytes: [0x61, 0, 0x62])), reason: "the name contains a NUL byte"),
        Lie(
            item: item("1", Filename(String(repeating: "x", count: 256))),
            reason: "the name has 256 bytes, more than 255"),
        Lie(item: item("1", "n", size: -1), reason: "its size is negative"),
        Lie(item: item("1", "n", size: .min), reason: "its size is negative"),
        Lie(item: item("1", "n", size: .max), reason: "its size, 9223372036854775807 bytes, is impossible"),
        Lie(item: item("", "n"), reason: "its identifier is reserved"),
        Lie(item: item(ItemIdentifier.rootContainer.rawValue, "n", .folder), reason: "its identifier is reserved"),
        Lie(
            item: item(String(repeating: "i", count: 2_000), "n"),
            reason: "its identifier has 2000 bytes, more than 1024"),
        Lie(item: item("a\0b", "n"), reason: "its identifier contains a NUL byte"),
        Lie(
            item: item("1", "n", content: ContentVersion(bytes: [UInt8](repeating: 1, count: 70_000))),
            reason: "its version has more than 65536 bytes"),
        Lie(item: item("1", "n", .symbolicLink(target: [])), reason: "the link's target is empty"),
        Lie(
            item: item("1", "n", .symbolicLink(target: [0x61, 0])),
            reason: "the link's target contains a NUL byte"),
        Lie(
            item: item("1", "n", .symbolicLink(target: [UInt8](repeating: 0x61, count: 5_000))),
            reason: "the link's target has 5000 bytes, more than 4095"),
        Lie(item: item("1", "honest"), reason: "another item has the same name"),
    ]

    @Test(arguments: lies) func whatCannotBeIsLeftOut(_ lie: Lie) async throws {
        let provider = try Self.provider([lie.item])
        try await withStore(provider) { store throws in
            #expect(try Self.names(store) == ["honest", "folder"])
            #expect(try store.files.text("honest") == "honest")
            let summary = try #require(store.volume.engine.refused.summary(of: .root))
            #expect(summary.hasPrefix("1 entry of the store cannot be shown: "))
            #expect(summary.hasSuffix("(\(lie.reason))"))
            // Once it is put right the entry is forgotten.
            provider.edit { $0.listing = nil }
            provider.base.signal(.folder(.rootContainer))
            try waitUntil(10, "nothing is refused") {
                store.volume.engine.refused.summary(of: .root) == nil
            }
            #expect(try Self.names(store) == ["honest", "folder"])
        }
    }

    @Test func whatIsOnlyStrangeIsShown() async throws {
        let longest = Filename(String(repeating: "x", count: 255))
        let bytes = Filename(bytes: [0xff, 0xfe, 0x20, 0x0a, 0xc3])
        let far: [FileTime] = [
            .init(nanoseconds: .min), .init(nanoseconds: .max), .init(seconds: .max), .init(seconds: .min),
        ]
        let target = [UInt8](repeating: 0x61, count: 4_095)
        var strange = [
            Self.item("1", longest), Self.item("2", bytes), Self.item("3", "Straße"), Self.item("4", "STRASSE"),
            Self.item("5", "e\u{301}"), Self.item("6", "\u{e9}"), Self.item("7", "File"), Self.item("8", "file"),
            Self.item("9", "link", .symbolicLink(target: target)), Self.item("10", "\\..\\x"),
            Self.item("11", "huge", size: Item.largestSize),
        ]
        for (index, date) in far.enumerated() {
            strange.append(Self.item("far\(index)", Filename("far\(index)"), modified: date))
        }
        let provider = try Self.provider(strange)
        try await withStore(provider) { [strange] store throws in
            #expect(store.volume.engine.refused.summary(of: .root) == nil)
            #expect(
                try Set(store.files.list(.root))
                    == Set(strange.map(\.filename.bytes) + [Array("honest".utf8), Array("folder".utf8)]))
            for item in strange {
                let seen = try store.files.stat(FSPath(names: [item.filename.bytes]))
                #expect(seen.modified == item.contentModificationDate.nanoseconds)
                let whole = FileTime(
                    seconds: item.contentModificationDate.seconds, nanoseconds: item.contentModificationDate.subsecond)
                #expect(whole == item.contentModificationDate)
            }
            #expect(try store.files.readlink("link") == target)
            #expect(try store.files.stat("huge").size == Item.largestSize)
            // The disk below may not hold such a file; the answer is an error, not a crash.
            _ = failure { _ = try store.files.read("huge", at: Item.largestSize - 10, 100) }
            // Dates that no clock has are no trouble to a writer either.
            for index in far.indices {
                try store.files.write(FSPath("far\(index)"), [1], at: 0, flags: O_TRUNC)
            }
            #expect(try store.files.readAll("far0") == [1])
            #expect(try store.files.text("honest") == "honest")
        }
    }

    @Test func aListingWithManyLiesIsToldInFew() async throws {
        let provider = try Self.provider((0..<5_000).map { Self.item("\($0)", Filename("a/\($0)")) })
        try await withStore(provider) { store throws in
            #expect(try Self.names(store) == ["honest", "folder"])
            let summary = try #require(store.volume.engine.refused.summary(of: .root))
            #expect(
                summary.hasPrefix("5000 entries of the store cannot be shown: ") && summary.hasSuffix(", and 4997 more")
            )
            #expect(summary.utf8.count < 2_000)
        }
    }

    /// The same identifier in two folders: it is in one of them at a time.
    @Test func anIdentifierThatIsEverywhereIsInOnePlace() async throws {
        let provider = ScriptedProvider()
        try provider.base.put("a/x", "1")
        try provider.base.put("b/y", "2")
        provider.edit {
            $0.listing = { items, folder, _ throws(FileProviderError) in
                folder == .rootContainer
                    ? ItemPage(items: items) : ItemPage(items: items + [Self.item("one", "one", in: folder)])
            }
        }
        try await withStore(provider) { store throws in
            for _ in 0..<3 {
                let found = try ["a", "b"].map { try Self.names(store, FSPath($0)) }
                #expect(found[0].isSuperset(of: ["x"]) && found[1].isSuperset(of: ["y"]))
                let places = try store.catalog.read { reader in
                    try reader.item(identifiedBy: ItemIdentifier("one"))?.inode.map { try reader.places(of: $0).count }
                }
                #expect(places == 1)
                for folder in ["a", "b"] {
                    if let item = provider.base.item(at: folder) { provider.base.signal(.folder(item.identifier)) }
                }
                usleep(50_000)
            }
            #expect(try store.files.text("a/x") == "1" && store.files.text("b/y") == "2")
        }
    }

    /// What an item says of its folder does not count in the listing of another.
    @Test func anotherParentDoesNotCount() async throws {
        let provider = ScriptedProvider()
        let folder = try provider.base.mkdir("folder")
        try provider.base.put("folder/x", "1")
        for liar in [ItemIdentifier("nowhere"), .rootContainer, folder.identifier] {
            provider.edit {
                $0.listing = { items, asked, _ throws(FileProviderError) in
                    ItemPage(
                        items: items.map { item in
                            var item = item
                            if asked == folder.identifier { item.parentIdentifier = liar }
                            return item
                        })
                }
            }
            try await withStore(provider) { store throws in
                #expect(try Self.names(store) == ["folder"])
                #expect(try Self.names(store, "folder") == ["x"])
                #expect(try store.files.text("folder/x") == "1")
            }
        }
    }

    @Test func aFolderInsideItselfEnds() async throws {
        let provider = ScriptedProvider()
        let folder = try provider.base.mkdir("folder")
        let inner = try provider.base.mkdir("folder/inner")
        provider.edit {
            $0.listing = { items, asked, _ throws(FileProviderError) in
                if asked == .rootContainer { return ItemPage(items: items) }
                return ItemPage(items: items + [folder, inner])
            }
        }
        try await withStore(provider) { store throws in
            var depth = 0
            var path: FSPath = "folder"
            while depth < 50, let next = try store.files.list(path).first {
                path = path.appending(next)
                depth += 1
            }
            #expect(depth < 3)
            #expect(try Self.names(store) == ["folder"])
        }
    }

    enum Endless: CaseIterable { case samePage, emptyPages, sameItems, hugePage }

    @Test(arguments: Endless.allCases) func aListingThatDoesNotEndIsCutOff(_ kind: Endless) async throws {
        let provider = try Self.provider([])
        provider.edit {
            $0.listing = { items, folder, page throws(FileProviderError) in
                if folder != .rootContainer { return ItemPage(items: items) }
                let number = page.map { $0.bytes.reduce(0) { ($0 << 8) | Int($1) } } ?? 0
                let next = Page(bytes: (0..<8).map { UInt8(truncatingIfNeeded: (number + 1) >> (56 - 8 * $0)) })
                switch kind {
                case .samePage: return ItemPage(items: items, nextPage: Page(bytes: [1]))
                case .emptyPages: return ItemPage(items: [], nextPage: next)
                case .sameItems: return ItemPage(items: items, nextPage: next)
                case .hugePage:
                    return ItemPage(items: items, nextPage: Page(bytes: [UInt8](repeating: 0, count: 1 << 20)))
                }
            }
        }
        try await withStore(provider) { store throws in
            #expect(failure { _ = try store.files.list(.root) } == EIO)
            // Nothing of it is taken for the listing; once it ends, it is.
            provider.edit { $0.listing = nil }
            // (A listing that began before may still come to its end.)
            try waitUntil(10, "it is listed") { (try? Self.names(store)) == ["honest", "folder"] }
        }
    }
}
