import FileProvider
import Foundation
import Testing

@testable import DirectoryProvider

/// Pictures that programs gave, beside the documents.
@Suite struct KeptThumbnailTests {
    private static let picture = Thumbnail(bytes: Array("a picture, as far as the store cares".utf8))

    private func give(_ store: TestStore, _ name: String, in folder: ItemIdentifier = .rootContainer) async throws
        -> Item
    {
        let item = try #require(
            try await store.provider.enumerateItems(in: folder, startingAt: nil).items.first {
                $0.filename == Filename(name)
            })
        try await store.provider.keepThumbnail(Self.picture, of: item.identifier, version: item.version.content)
        return item
    }

    private func find(_ provider: DirectoryProvider, _ item: Item) async throws -> Thumbnail? {
        try await provider.thumbnail(of: item.identifier, version: item.version.content, size: 128)
    }

    private func pictures(_ store: TestStore, _ folder: String = "") -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: store.path(folder + ".hydrant-thumbnails"))) ?? []
    }

    @Test func anotherMachineFindsIt() async throws {
        let store = try TestStore()
        try store.write("text", to: "a")
        let item = try await give(store, "a")
        #expect(try await find(try store.again(), item) == Self.picture)
        // Where inode numbers mean nothing, too.
        let other = try store.again(seams: Seams(pathIdentifiersOnly: true))
        let there = try #require(try await other.enumerateItems(in: .rootContainer, startingAt: nil).items.first)
        #expect(there.identifier != item.identifier)
        #expect(try await find(other, there) == Self.picture)
        #expect(try await other.enumerateItems(in: .rootContainer, startingAt: nil).items.count == 1)
    }

    /// A listing sweeps up an empty folder of pictures, but not one that was just made for the first of them.
    @Test func theFolderForThemGoesWhileItIsMade() async throws {
        let store = try TestStore()
        try store.write("text", to: "a")
        let item = try await give(store, "a")
        let lister = Task {
            while !Task.isCancelled {
                _ = try await store.provider.enumerateItems(in: .rootContainer, startingAt: nil)
            }
        }
        defer { lister.cancel() }
        for _ in 0..<300 {
            for picture in pictures(store) { unlink(store.path(".hydrant-thumbnails/" + picture)) }
            try await store.provider.keepThumbnail(Self.picture, of: item.identifier, version: item.version.content)
            #expect(try await find(store.provider, item) == Self.picture)
        }
    }

    @Test func aCopyOfTheDirectoryHasIt() async throws {
        let (store, copy) = (try TestStore(), try TestStore())
        try store.write("text", to: "a")
        _ = try await give(store, "a")
        copy.shell("cp -a '\(store.root)/.' .")
        let item = try #require(
            try await copy.provider.enumerateItems(in: .rootContainer, startingAt: nil).items.first)
        #expect(try await find(copy.provider, item) == Self.picture)
    }

    @Test func othersWhoWriteTheDocumentTakeItAway() async throws {
        let store = try TestStore()
        try store.write("text", to: "a")
        let item = try await give(store, "a")
        store.replace("a", with: "other text")
        let now = try await store.provider.providePlaceholder(
            for: try await store.provider.enumerateItems(in: .rootContainer, startingAt: nil).items[0].identifier)
        #expect(try await find(store.provider, now) == nil)
        await #expect(throws: FileProviderError.self) { try await find(store.provider, item) }
        // Also when size and date stay as they were.
        let kept = try await give(store, "a")
        let dates = store.shell("touch -r a ../\((store.root as NSString).lastPathComponent).date")
        #expect(dates == 0)
        try await Task.sleep(for: .milliseconds(20))
        store.overwriteInPlace("a", with: "OTHER TEXT")
        store.shell("touch -r '\(store.root).date' a; rm '\(store.root).date'")
        let after = try await store.provider.providePlaceholder(for: kept.identifier)
        #expect(after.version.content != kept.version.content)
        #expect(try await find(store.provider, after) == nil)
    }

    @Test func othersWhoMoveOrRemoveTheFolderMoveOrRemoveIt() async throws {
        let store = try TestStore()
        store.makeFolder("f")
        try store.write("text", to: "f/a")
        let folder = try #require(
            try await store.provider.enumerateItems(in: .rootContainer, startingAt: nil).items.first)
        let item = try await give(store, "a", in: folder.identifier)
        store.shell("mv f g")
        #expect(try await find(store.provider, item) == Self.picture)
        #expect(store.shell("rm -r g") == 0)
    }

    @Test func whatIsDeletedHereLeavesNothing() async throws {
        let store = try TestStore()
        store.makeFolder("f")
        for name in ["f/a", "f/b"] { try store.write("text", to: name) }
        let folder = try #require(
            try await store.provider.enumerateItems(in: .rootContainer, startingAt: nil).items.first)
        let first = try await give(store, "a", in: folder.identifier)
        _ = try await give(store, "b", in: folder.identifier)
        try await store.provider.deleteItem(first.identifier, baseVersion: first.version)
        #expect(pictures(store, "f/").count == 1)
        // Of the other one, which somebody else removes, the picture stays; the folder can be deleted all the same.
        store.shell("rm f/b")
        try await store.provider.deleteItem(folder.identifier, baseVersion: folder.version)
        #expect(store.names.isEmpty)
    }

    @Test func whatIsLeftIsSweptUp() async throws {
        let store = try TestStore()
        for name in ["a", "b"] { try store.write("text", to: name) }
        _ = try await give(store, "a")
        let kept = try await give(store, "b")
        store.shell("rm a")
        let now = try store.again()
        _ = try await now.enumerateItems(in: .rootContainer, startingAt: nil)
        #expect(pictures(store).count == 2)
        let later = try store.again(seams: Seams(leftoverAge: -1))
        _ = try await later.enumerateItems(in: .rootContainer, startingAt: nil)
        #expect(pictures(store).count == 1)
        #expect(try await find(later, kept) == Self.picture)
    }

    @Test func whoCannotReadTheDocumentCannotSeeItsPicture() async throws {
        let store = try TestStore()
        try store.write("text", to: "a")
        store.shell("chmod 640 a; chmod 750 .")
        _ = try await give(store, "a")
        let name = try #require(pictures(store).first)
        func mode(_ path: String) throws -> Int {
            try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        }
        #expect(try mode(store.path(".hydrant-thumbnails")) == 0o750)
        #expect(try mode(store.path(".hydrant-thumbnails/" + name)) == 0o640)
    }

    @Test func whatStandsInTheWayIsLeftAlone() async throws {
        let store = try TestStore()
        try store.write("text", to: "a")
        try store.write("somebody's", to: ".hydrant-thumbnails")
        await #expect(throws: FileProviderError.self) { _ = try await give(store, "a") }
        #expect(store.read(".hydrant-thumbnails") == "somebody's")
        store.shell("rm .hydrant-thumbnails; mkdir ../\((store.root as NSString).lastPathComponent).other")
        store.shell("ln -s '\(store.root).other' .hydrant-thumbnails")
        await #expect(throws: FileProviderError.self) { _ = try await give(store, "a") }
        #expect(store.shell("rmdir '\(store.root).other'") == 0)
    }
}
