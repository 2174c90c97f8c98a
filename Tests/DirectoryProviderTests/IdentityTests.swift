import FileProvider
import Glibc
import Testing

@testable import DirectoryProvider

/// Which item is which, through renames, replacements, copies and restarts.
@Suite struct IdentityTests {
    @Test func aMissingRootIsNamed() throws {
        for path in ["/nowhere/at-all", "/etc/passwd", "relative"] {
            let error = #expect(throws: FileProviderError.self) {
                try DirectoryProvider(root: path, logger: TestStore.quiet)
            }
            #expect(error?.message.contains(path) == true)
        }
    }

    @Test func identifiersSurviveChangeRenameAndRestart() async throws {
        let store = try TestStore()
        let made = try await store.create("a.txt", "one")
        let changed = try await store.change(made, to: "two, longer")
        #expect(changed.identifier == made.identifier)
        #expect(changed.version.content != made.version.content)
        // By the provider, and behind its back.
        let moved = try await store.provider.moveItem(
            made.identifier, to: .rootContainer, as: "b.txt", baseVersion: changed.version)
        #expect(moved.identifier == made.identifier)
        #expect(moved.version.content == changed.version.content)
        store.shell("mkdir sub && mv b.txt sub/c.txt")
        let found = try await store.provider.providePlaceholder(for: made.identifier)
        #expect(found.filename == "c.txt")
        // A new provider knows nothing yet, and finds it all the same.
        let again = try await store.afterRestart(made.identifier)
        #expect(again == found.withoutDigest)
        #expect(try await store.change(again, to: "three").identifier == made.identifier)
    }

    @Test func aCopyIsAnotherItem() async throws {
        let store = try TestStore()
        let made = try await store.create("a", "one")
        let item = try await store.change(made, to: "two")
        #expect(store.shell("getfattr -n user.hydrant.identity a >/dev/null && cp -a a copy") == 0)
        #expect(store.shell("getfattr -n user.hydrant.identity copy >/dev/null") == 0)
        let identifiers = Set(try await store.items().map(\.identifier))
        #expect(identifiers.count == 2)
        #expect(try await store.item("a").identifier == item.identifier)
        #expect(try await store.item("copy").identifier != item.identifier)
    }

    /// As anybody who may write to the file can.
    private static func claim(_ identifier: ItemIdentifier, _ name: String, _ store: TestStore) throws {
        let names = name.split(separator: "/").map { Array($0.utf8) }
        let folder = try #require(try store.provider.store.open(Array(names.dropLast())))
        let last = names.last!
        let status = try #require(try folder.status(of: last))
        let value = try #require(Identity.attributeValue(identifier, for: status))
        try AttributedFile(last, in: folder).set(Identity.attribute, to: value)
    }

    @Test("a file that claims another document's identifier keeps its own, and gets nothing of the other") func theft()
        async throws
    {
        let store = try TestStore()
        let secret = try await store.create("private", "one")
        store.makeFolder("shared")
        try store.write("theirs", to: "shared/forged")
        try Self.claim(secret.identifier, "shared/forged", store)
        let shared = try await store.item("shared")
        let forged = try await store.item("forged", in: shared.identifier)
        #expect(forged.identifier != secret.identifier)
        // Replaced from here, it has an attribute of ours.
        let changed = try await store.change(secret, to: "secret")
        #expect(changed.identifier == secret.identifier)
        try store.write("again", to: "shared/second")
        try Self.claim(secret.identifier, "shared/second", store)
        #expect(try await store.item("second", in: shared.identifier).identifier != secret.identifier)
        _ = try await store.change(changed, to: "more secret")
        #expect(store.read("private") == "more secret")
        #expect(store.read("shared/forged") == "theirs" && store.read("shared/second") == "again")
        #expect(try await store.item("forged", in: shared.identifier).identifier == forged.identifier)
        // Nor when the document is gone.
        let last = try await store.item("private")
        try await store.provider.deleteItem(last.identifier, baseVersion: last.version)
        #expect(try await store.item("forged", in: shared.identifier).identifier == forged.identifier)
    }

    @Test("the identifier in a file that others may write to is not believed") func writableByOthers() async throws {
        let store = try TestStore()
        let claimed = ItemIdentifier("i:123456789:1.2")
        for (mode, owner, isBelieved) in [("600", 0, true), ("664", 0, false), ("602", 0, false), ("600", 1, false)] {
            guard geteuid() == 0 || owner == 0 else { continue }
            try? store.write("x", to: "a\(mode)\(owner)")
            try Self.claim(claimed, "a\(mode)\(owner)", store)
            #expect(store.shell("chmod \(mode) a\(mode)\(owner)") == 0)
            if owner != 0 { #expect(store.shell("chown \(owner) a\(mode)\(owner)") == 0) }
            let item = try await store.item("a\(mode)\(owner)", of: try store.again())
            #expect((item.identifier == claimed) == isBelieved, "mode \(mode), owner \(owner)")
            unlink(store.path("a\(mode)\(owner)"))
        }
    }

    @Test(
        "a malformed identifier in a file is ignored",
        arguments: [
            "i:", "i:1", "i:x:1.2", "i:1:2", "i:1:1.2:3", "d:1:1.2", "i:-1:1.2", "x:1:1.2", "i:1:1.2 i:1:1.2",
            "p:elsewhere",
        ])
    func malformed(_ claimed: String) async throws {
        let store = try TestStore()
        try store.write("x", to: "a")
        let before = try await store.item("a")
        try Self.claim(ItemIdentifier(claimed), "a", store)
        #expect(try await store.item("a").identifier == before.identifier)
        #expect(try await store.item("a", of: try store.again()).identifier == before.identifier)
    }

    @Test("a file that another Hydrant put in a document's place is the document") func ofAnotherDaemon() async throws {
        let store = try TestStore()
        let item = try await store.create("a", "one")
        let other = try store.again()
        let seen = try await store.item("a", of: other)
        let changed = try await other.itemChanged(
            seen.identifier, contents: TextSource("two"),
            metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 5), posixPermissions: 0o666),
            baseVersion: seen.version)
        #expect(changed.identifier == item.identifier)
        // (Everybody may write to it.)
        #expect(try await store.item("a").identifier == item.identifier)
    }

    @Test func namesThatAreNotText() async throws {
        let store = try TestStore()
        let name = Filename(bytes: [0xFF, 0x2F - 1, 0xC3, 0x28, 0x0A, 0x20])
        let made = try await store.create(name, "bytes")
        #expect(made.filename == name)
        #expect(try await store.items() == [made])
        #expect(try await store.download(made) == Array("bytes".utf8))
        let other = Filename(bytes: [0xFE])
        let moved = try await store.provider.moveItem(
            made.identifier, to: .rootContainer, as: other, baseVersion: made.version)
        #expect(moved.filename == other)
        // Also where the identifier is made of the name.
        let paths = try store.again(seams: .with { $0.pathIdentifiersOnly = true })
        let byPath = try #require(try await store.items(of: paths).first)
        #expect(try await paths.providePlaceholder(for: byPath.identifier).filename == other)
    }

    @Test func hardLinksAreTwoItems() async throws {
        let store = try TestStore()
        try store.write("both", to: "a")
        #expect(store.shell("ln a b") == 0)
        let items = try await store.items()
        #expect(Set(items.map(\.identifier)).count == 2)
        let a = try await store.item("a")
        let changed = try await store.change(a, to: "only a")
        #expect(changed.identifier == a.identifier)
        #expect(store.read("a") == "only a")
        #expect(store.read("b") == "both")
        #expect(try await store.item("a").identifier == a.identifier)
    }

    @Test func identifiersByPath() async throws {
        let store = try TestStore(seams: .with { $0.pathIdentifiersOnly = true })
        store.makeFolder("folder")
        try store.write("x", to: "folder/a b%.txt")
        let folder = try await store.item("folder")
        let item = try await store.item("a b%.txt", in: folder.identifier)
        #expect(item.identifier == ItemIdentifier("p:folder/a%20b%25.txt"))
        let changed = try await store.change(item, to: "y")
        #expect(changed.identifier == item.identifier)
        // Same size, same date: still another version.
        let twice = try await store.change(changed, to: "z")
        #expect(twice.version.content != changed.version.content)
        let moved = try await store.provider.moveItem(
            folder.identifier, to: .rootContainer, as: "renamed", baseVersion: folder.version)
        #expect(moved.identifier == ItemIdentifier("p:renamed"))
        #expect(
            await code { try await store.provider.providePlaceholder(for: item.identifier) } == .noSuchItem)
        #expect(
            try await store.items(in: moved.identifier).map(\.identifier.rawValue) == [
                "p:renamed/a%20b%25.txt"
            ])
    }

    @Test(arguments: [
        "p:../etc/passwd", "p:/etc/passwd", "p:a/../../etc", "p:%2Fetc", "p:", "i:", "p:%00", "p:%2E%2E",
    ])
    func identifiersThatNobodyHas(_ identifier: String) async throws {
        let store = try TestStore()
        #expect(
            await code { try await store.provider.providePlaceholder(for: ItemIdentifier(identifier)) }
                == .noSuchItem)
    }

    @Test func longPathsHaveShortIdentifiers() async throws {
        let store = try TestStore(seams: .with { $0.pathIdentifiersOnly = true })
        let long = String(repeating: "d", count: 250)
        store.shell(
            "mkdir -p \(long)/\(long)/\(long)/\(long) && echo 1 > \(long)/\(long)/\(long)/\(long)/leaf")
        var folder = ItemIdentifier.rootContainer
        for _ in 0..<4 { folder = try await store.item(long, in: folder).identifier }
        let leaf = try await store.item("leaf", in: folder)
        #expect(leaf.identifier.rawValue.utf8.count <= 1024)
        let again = try store.again(seams: .with { $0.pathIdentifiersOnly = true })
        #expect(try await again.providePlaceholder(for: leaf.identifier).filename == "leaf")
    }

    @Test func absenceIsNotDeletion() async throws {
        let store = try TestStore()
        let item = try await store.create("a", "1")
        unlink(store.path("a"))
        #expect(
            await code { try await store.provider.providePlaceholder(for: item.identifier) } == .noSuchItem)
        let other = try await store.create("b", "2")
        #expect(store.shell("mv '\(store.root)' '\(store.root).away'") == 0)
        for identifier in [item.identifier, other.identifier, .rootContainer] {
            #expect(
                await code { try await store.provider.providePlaceholder(for: identifier) }
                    == .serverUnreachable)
        }
        #expect(await code { try await store.items() } == .serverUnreachable)
        #expect(await code { try await store.create("c", "3") } == .serverUnreachable)
        #expect(rename(store.root + ".away", store.root) == 0)
        #expect(try await store.items().map(\.filename) == ["b"])
    }

    @Test func aFolderThatCannotBeSeenIsNoProofOfAbsence() async throws {
        let store = try TestStore(seams: .with { $0.walkFails = true })
        let item = try await store.create("a", "1")
        store.shell("mkdir locked && mv a locked/a")
        #expect(
            await code { try await store.provider.providePlaceholder(for: item.identifier) }
                == .cannotSynchronize)
        // What was found in spite of the failure is an answer.
        store.shell("mv locked/a b")
        #expect(try await store.provider.providePlaceholder(for: item.identifier).filename == "b")
    }

    /// Inode numbers of two file systems say nothing to each other.
    @Test func fileSystemsMountedBelow() async throws {
        let store = try TestStore()
        store.makeFolder("mounted")
        // Needs to be root; elsewhere there is nothing to test.
        guard store.shell("mount -t tmpfs none mounted 2>/dev/null") == 0 else { return }
        defer { store.shell("umount -l mounted") }
        let folder = try await store.item("mounted")
        let made = try await store.create("a", "1", in: folder.identifier)
        for item in [folder, made] { #expect(!item.identifier.rawValue.hasPrefix("i:")) }
        let changed = try await store.change(made, to: "22")
        #expect(changed.identifier == made.identifier)
        #expect(try await store.afterRestart(made.identifier) == changed.withoutDigest)
        #expect(
            await code {
                try await store.provider.moveItem(
                    made.identifier, to: .rootContainer, as: "a", baseVersion: changed.version)
            } == .unsupported)
        try await store.provider.deleteItem(made.identifier, baseVersion: changed.version)
    }

    @Test func manyMissesShareAWalk() async throws {
        let counter = Counter()
        let search = Search {
            counter.add()
            try? await Task.sleep(for: .milliseconds(100))
            return nil
        }
        await withTaskGroup { group in
            for _ in 0..<100 { group.addTask { _ = await search.afresh() } }
        }
        #expect((1...2).contains(counter.value))
    }
}
