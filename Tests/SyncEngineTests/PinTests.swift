import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Testing
import Trees

@testable import SyncEngine

@Suite("Pinned documents", .timeLimit(.minutes(10))) struct PinTests {
    private func prepared() async throws -> TestEngine {
        let test = try TestEngine(cache: CacheLimits(most: 0, minimumFree: .bytes(0)))
        try test.remote.put("a", "first")
        try test.remote.put("f/b", "in a folder")
        try await test.engine.enumerate(.root)
        return test
    }

    private func isHere(_ path: String, _ test: TestEngine) throws -> Bool {
        guard let inode = try? test.inode(path) else { return false }
        return inode.extents == nil
    }

    @Test("a pinned document is downloaded, stays regardless of the limit, and is updated from the store")
    func document() async throws {
        let test = try await prepared()
        test.engine.start()
        try await test.engine.setPinned(test.item("a").id, true)
        #expect(try await eventually { try isHere("a", test) })
        #expect(await test.engine.cache.tidy() == 0)
        #expect(throws: SyncError.self) { try test.engine.evict(try test.inode("a").id) }
        try test.remote.put("a", "the second one")
        #expect(try await eventually { try test.inode("a").size == 14 && isHere("a", test) })
        try await test.engine.setPinned(test.item("a").id, false)
        #expect(try await eventually { try test.inode("a").extents == RangeSet() })
        await test.engine.stop()
    }

    @Test("a pinned folder: its contents, items added later, and items below folders added later")
    func folder() async throws {
        let test = try await prepared()
        test.engine.start()
        try await test.engine.setPinned(test.item("f").id, true)
        #expect(try await eventually { try isHere("f/b", test) })
        try test.remote.put("f/new", "new")
        try test.remote.put("f/deep/er/c", "deep")
        #expect(try await eventually { try isHere("f/new", test) && isHere("f/deep/er/c", test) })
        #expect(try test.inode("a").extents == RangeSet())
        // Moved into it here.
        try test.rename("a", "a", to: test.inode("f").id)
        #expect(try await eventually { try isHere("f/a", test) })
        await test.engine.stop()
    }

    @Test("a failed pin download is tried again until the store is back")
    func offline() async throws {
        let test = try await prepared()
        test.plan.isOffline = true
        test.engine.start()
        try await test.engine.setPinned(test.item("a").id, true)
        try await test.engine.setPinned(test.item("f").id, true)
        #expect(try await eventually { test.plan.attempts(of: .startProvidingItem) >= 3 })
        #expect(try test.catalog.read { try $0.missingPinned() }.reduce(0) { $0 + $1.bytes } == 5)
        test.plan.isOffline = false
        #expect(try await eventually { try isHere("a", test) && isHere("f/b", test) })
        #expect(try await eventually { try test.catalog.read { try $0.missingPinned() }.isEmpty })
        await test.engine.stop()
    }

    @Test("after a restart the missing bytes are downloaded")
    func restart() async throws {
        let test = try await prepared()
        try await test.engine.setPinned(test.item("a").id, true)
        try await Task.sleep(for: .milliseconds(200))
        #expect(try !isHere("a", test))
        test.engine.start()
        #expect(try await eventually { try isHere("a", test) })
        await test.engine.stop()
    }

    @Test("the pin passes to the document that replaces it in the store, and to no other")
    func replaced() async throws {
        let test = try await prepared()
        try test.catalog.write { try $0.setPinned(try $0.item(of: $0.resolve(["a"]).id)!.id, true) }
        // Saved there by another program, as another file.
        try test.remote.remove("a")
        try test.remote.put("a", "another")
        try await test.engine.enumerate(.root)
        #expect(try test.item("a").isPinned)
        // Moved away, and another one made: the pin is the first one's.
        try test.remote.rename("a", to: "moved")
        try test.remote.put("a", "a third")
        try await test.engine.enumerate(.root)
        #expect(try test.item("moved").isPinned)
        #expect(try !test.item("a").isPinned)
    }

    @Test("an item is pinned by itself or by the nearest folder above it")
    func whichPin() async throws {
        let test = try await prepared()
        try await test.engine.enumerate(try test.inode("f").id)
        func pin(_ path: String) throws -> ItemID? {
            let item = try test.item(path)
            return try test.catalog.read { try $0.pin(of: item)?.id }
        }
        #expect(try pin("f/b") == nil)
        try test.catalog.write { try $0.setPinned(.root, true) }
        #expect(try pin("f/b") == .root)
        #expect(try pin("a") == .root)
        let folder = try test.item("f").id
        try test.catalog.write { try $0.setPinned(folder, true) }
        #expect(try pin("f/b") == folder)
        #expect(try test.catalog.read { try $0.pinnedInodes() } == [test.inode("a").id, test.inode("f/b").id])
        try test.catalog.write { try $0.setPinned(.root, false) }
        #expect(try test.catalog.read { try $0.pinnedInodes() } == [test.inode("f/b").id])
    }
}
