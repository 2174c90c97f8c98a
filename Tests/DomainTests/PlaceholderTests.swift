import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import MountHarness
import SyncEngine
import Synchronization
import Testing
import Trees

/// Signals nothing: what it has shows when it is listed, or when somebody writes a placeholder.
final class SilentProvider: ForwardingProvider {
    let base = InMemoryProvider()
}

/// Writes the placeholder of a certain item whenever a folder is listed.
final class EagerProvider: ForwardingProvider {
    let base = InMemoryProvider()
    private let domain = Mutex<(any FileProviderDomain)?>(nil)
    let refusals = Mutex<[FileProviderError.Code]>([])

    func beginServing(_ domain: any FileProviderDomain) async throws(FileProviderError) {
        self.domain.withLock { $0 = domain }
        guard let item = base.item(at: "first") else { return }
        try await domain.writePlaceholder(at: domain.url(relativePath: ["first"]), withMetadata: item)
    }

    func enumerateItems(
        in folder: ItemIdentifier, startingAt page: Page?
    ) async throws(FileProviderError) -> ItemPage {
        if let domain = domain.withLock({ $0 }), folder != .rootContainer {
            // It comes after the listing was made.
            let page = try await base.enumerateItems(in: folder, startingAt: page)
            do {
                let item = try base.put("folder/eager", "hello")
                let url = domain.url(relativePath: ["folder", "eager"])
                try await domain.writePlaceholder(at: url, withMetadata: item)
            } catch {
                refusals.withLock { $0.append(error.code) }
            }
            return page
        }
        return try await base.enumerateItems(in: folder, startingAt: page)
    }
}

@Suite("Placeholders that a provider creates") struct PlaceholderTests {
    @Test(
        "a placeholder is shown at once, although programs were told before that the name is absent",
        arguments: [true, false])
    func show(_ passthrough: Bool) async throws {
        let provider = SilentProvider()
        try provider.base.mkdir("folder")
        try await withServed(provider, passthrough: passthrough) { served in
            try served.run("ls -l . folder")
            for number in 0..<15 {
                let path = number % 2 == 0 ? "new\(number)" : "folder/new\(number)"
                #expect(try served.run("stat \(path) 2>/dev/null || echo nothing") == "nothing")
                let item = try provider.base.put(path, "hello")
                try served.write(item, at: path)
                #expect(try served.run("stat -c %s \(path)") == "5")
            }
            #expect(try served.run("ls | wc -l; ls folder | wc -l") == "9\n7")
            #expect(try served.run("cat new0") == "hello")
            try served.sync()
        }
    }

    @Test("a placeholder is shown in a folder that is not listed yet, without a listing")
    func inAnUnlistedFolder() async throws {
        let provider = SilentProvider()
        try provider.base.put("folder/other", "")
        try await withServed(provider) { served in
            try served.run("ls")
            provider.base.forgetCalls()
            let item = try provider.base.put("folder/new", "hello")
            try served.write(item, at: "folder/new")
            #expect(try served.run("stat -c %s folder/new") == "5")
            #expect(provider.base.calls(of: .enumerateItems).isEmpty)
            #expect(try served.run("ls folder") == "new\nother")
            // And an item below a folder that was itself only written.
            let deep = try provider.base.put("folder/deep/doc", "deep")
            try served.write(try #require(provider.base.item(at: "folder/deep")), at: "folder/deep")
            try served.write(deep, at: "folder/deep/doc")
            #expect(try served.run("cat folder/deep/doc") == "deep")
            try served.sync()
        }
    }

    @Test("placeholders survive a remount and a killed listing") func survive() async throws {
        let provider = SilentProvider()
        try provider.base.mkdir("folder")
        try await withServing { sandbox in
            let first = try ServedDomain(provider, sandbox)
            try first.run("ls")
            try first.write(try provider.base.put("folder/new", "hello"), at: "folder/new")
            first.end()
            let second = try ServedDomain(provider, sandbox)
            defer { second.end() }
            provider.base.forgetCalls()
            #expect(try second.run("stat -c %s folder/new") == "5")
            #expect(provider.base.calls(of: .enumerateItems).filter { $0.identifier != .rootContainer }.isEmpty)
        }
    }

    @Test("a placeholder updates an item that is already shown") func ofAKnownItem() async throws {
        let provider = SilentProvider()
        try provider.base.put("a", "old")
        try provider.base.mkdir("folder")
        try await withServed(provider) { served in
            #expect(try served.run("cat a; ls folder") == "old")
            try served.write(try provider.base.put("a", "newer"), at: "a")
            #expect(try served.run("stat -c %s a; cat a") == "5\nnewer")
            let inode = try served.run("stat -c %i a")
            try served.write(try provider.base.rename("a", to: "folder/b"), at: "folder/b")
            #expect(try served.run("stat -c %i folder/b; ls") == inode + "\nfolder")
        }
    }

    @Test("placeholders can be created before the mount, and during a listing") func whileListing() async throws {
        let provider = EagerProvider()
        try provider.base.put("first", "1")
        try provider.base.put("folder/other", "")
        try await withServing { sandbox in
            let served = try ServedDomain(provider, sandbox)
            defer { served.end() }
            #expect(try served.catalog.read { try $0.children(of: .root, after: 0, limit: 9) }.map(\.name) == ["first"])
            #expect(try served.run("ls folder") == "eager\nother")
            #expect(try served.run("stat -c %s folder/eager first") == "5\n1")
            #expect(provider.refusals.withLock { $0 } == [])
        }
    }

    @Test("placeholders with an impossible place are refused") func refused() async throws {
        let provider = SilentProvider()
        try provider.base.put("a", "A")
        try provider.base.mkdir("folder/sub")
        try await withServed(provider) { served in
            try served.run("ls . folder; echo mine >b; mkdir local")
            let item = try provider.base.put("c", "C")
            func code(_ path: String, _ change: (inout Item) -> Void = { _ in }) -> FileProviderError.Code? {
                var changed = item
                change(&changed)
                return refusal { try served.write(changed, at: path) }
            }
            #expect(code("other") == .invalidName)
            #expect(code("") == .invalidName)
            #expect(code("folder/c") == .invalidName)
            #expect(code("c") { $0.size = -1 } == .invalidName)
            #expect(code("c") { $0.identifier = .rootContainer } == .invalidName)
            #expect(code("unknown/c") == .noSuchItem)
            #expect(code("folder/sub/deeper/c") == .noSuchItem)
            #expect(code("a/c") == .noSuchItem)
            #expect(code("a") { $0.filename = "a" } == .filenameCollision)
            #expect(code("b") { $0.filename = "b" } == .filenameCollision)
            #expect(
                refusal { try served.write(item, at: "c/../c") } == nil
                    || refusal { try served.write(item, at: "c/../c") } == .invalidName)
            // A folder inside of itself.
            var folder = try #require(provider.base.item(at: "folder"))
            folder.parentIdentifier = try #require(provider.base.item(at: "folder/sub")).identifier
            #expect(refusal { try served.write(folder, at: "folder/sub/folder") } == .invalidName)
            #expect(try served.run("ls; ls folder; cat b").hasSuffix("sub\nmine"))
            try served.sync()
        }
    }

    @Test("placeholders are refused while the item is being moved or deleted here") func movedHere() async throws {
        let provider = SilentProvider()
        let a = try provider.base.put("a", "A")
        let b = try provider.base.put("b", "B")
        try await withServing { sandbox in
            let served = try ServedDomain(provider, sandbox)
            defer { served.end() }
            // Pending for long.
            try served.run("ls")
            _ = try served.catalog.write { writer in
                _ = try writer.rename("a", in: .root, to: "moved", in: .root, noReplace: false, settle: 3_600)
                _ = try writer.unlink("b", in: .root, settle: 3_600)
            }
            #expect(refusal { try served.write(a, at: "a") } == .busy)
            #expect(refusal { try served.write(b, at: "b") } == .busy)
            #expect(
                try served.catalog.read { try $0.children(of: .root, after: 0, limit: 10) }.map(\.name) == ["moved"])
        }
    }

    @Test("a placeholder keeps the thumbnail of its version") func thumbnail() async throws {
        let provider = SilentProvider()
        try await withServed(provider) { served in
            try served.run("ls")
            let item = try provider.base.put("photo.png", "P")
            let picture = Thumbnail(bytes: [1, 2, 3])
            try served.write(item, at: "photo.png", thumbnail: picture)
            let shelf = served.engine.thumbnails
            #expect(shelf.thumbnail(of: item.identifier, item.version.content) == picture)
            #expect(shelf.thumbnail(of: item.identifier, ContentVersion("another")) == nil)
        }
    }
}
