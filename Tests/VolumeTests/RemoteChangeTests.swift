import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Testing
import Volume

@Suite struct RemoteChangeTests {
    private let test: TestVolume

    init() throws { test = try TestVolume(settle: 60) }

    @Test func theOldHandleKeepsTheOldBytesAndANewLookSeesTheNewOnes() async throws {
        try test.remote.put("a", "old bytes")
        let old = try await test.lookUp("a")
        let handle = try test.volume.open(old.node, flags: O_RDONLY).handle
        #expect(try await test.read(handle) == Array("old bytes".utf8))
        test.kernel.forgetEvents()
        try test.remote.put("a", "new")
        try await test.refresh()

        #expect(test.kernel.events.contains(.entry(.root, "a")))
        #expect(test.kernel.events.contains(.contents(old.node)))
        #expect(try await test.read(handle) == Array("old bytes".utf8))
        #expect(try test.volume.attributes(of: old.node).record.size == 9)
        let new = try await test.lookUp("a")
        #expect(new.node != old.node)
        #expect(new.attributes.record.id == old.attributes.record.id)
        #expect(new.attributes.record.size == 3)
        #expect(await errnoOf { _ = try test.volume.open(old.node, flags: O_RDONLY) } == ESTALE)
        #expect(await errnoOf { _ = try test.volume.open(old.node, flags: O_RDWR) } == ESTALE)
        #expect(try await test.contents("a") == "new")
        #expect(try await test.read(handle) == Array("old bytes".utf8))
        test.volume.close(handle)
        #expect(test.store.status(.init(inode: old.attributes.record.id.rawValue, number: 1)) == nil)
    }

    @Test func aHandleThatHasReadNothingGetsTheNewVersion() async throws {
        try test.remote.put("a", "old bytes")
        let lookup = try await test.lookUp("a")
        let handle = try test.volume.open(lookup.node, flags: O_RDONLY).handle
        try test.remote.put("a", "new")
        try await test.refresh()
        #expect(test.kernel.events.contains(.contents(lookup.node)))
        #expect(try test.volume.attributes(of: lookup.node).record.size == 3)
        #expect(try await test.read(handle) == Array("new".utf8))
        #expect(try await test.lookUp("a").node == lookup.node)
        test.volume.close(handle)
    }

    /// The change is noticed only because the download is refused.
    @Test func aReadThatFindsAnotherVersionBringsThatOne() async throws {
        try test.remote.put("a", "old bytes")
        let handle = try await test.open("a").handle
        try test.remote.put("a", "newer")
        #expect(try await test.read(handle) == Array("newer".utf8))
        test.volume.close(handle)
    }

    @Test func aClosedDocumentIsANewNodeToo() async throws {
        try test.remote.put("a", "old")
        #expect(try await test.contents("a") == "old")
        let old = try await test.lookUp("a").node
        try test.remote.put("a", "newer")
        try await test.refresh()
        #expect(try await test.lookUp("a").node != old)
        #expect(try await test.contents("a") == "newer")
    }

    @Test func aWriterKeepsTheStoreOutUntilItIsDone() async throws {
        try test.remote.put("a", "old")
        let node = try await test.lookUp("a").node
        let opened = try test.volume.open(node, flags: O_RDWR)
        try test.remote.put("a", "newer")
        try await test.refresh()
        #expect(try test.volume.attributes(of: node).record.size == 3)
        // It wrote nothing: the new version is taken when it lets go.
        try test.close(opened.handle)
        #expect(try test.pendingNames() == [])
        #expect(try await test.lookUp("a").attributes.record.size == 5)
        #expect(try await test.contents("a") == "newer")
    }

    @Test func aWriteAgainstARemoteChangeKeepsBoth() async throws {
        try test.remote.put("a.txt", "old")
        let opened = try await test.open("a.txt", O_RDWR)
        try test.write(opened.handle, "mine")
        try test.remote.put("a.txt", "theirs")
        try await test.refresh()
        try test.close(opened.handle)
        #expect(try await test.sync().isEmpty)
        let stored = test.remote.snapshot()
        #expect(stored["a.txt"] == .document(Array("theirs".utf8)))
        let copy = try #require(stored.first { $0.key != "a.txt" })
        #expect(copy.key.contains("conflicted copy") && copy.value == .document(Array("mine".utf8)))
        #expect(try await test.contents("a.txt") == "theirs")
        #expect(try await test.contents(copy.key) == "mine")
    }

    @Test func anItemGoneThereIsGoneHereButNotForItsReader() async throws {
        try test.remote.put("a", "text")
        let lookup = try await test.lookUp("a")
        let handle = try test.volume.open(lookup.node, flags: O_RDONLY).handle
        _ = try await test.read(handle)
        test.kernel.forgetEvents()
        try test.remote.remove("a")
        try await test.refresh()
        #expect(test.kernel.events.contains(.entry(.root, "a")))
        #expect(try await test.find("a") == nil)
        #expect(try await test.read(handle) == Array("text".utf8))
        test.volume.close(handle)
        test.volume.forget(lookup.node, count: 1)
        #expect(try test.catalog.read { try $0.inodeIfPresent(lookup.attributes.record.id) } == nil)
    }

    @Test func aNewItemIsAnnounced() async throws {
        #expect(try await test.find("a") == nil)
        try test.remote.put("a", "text")
        test.kernel.forgetEvents()
        try await test.refresh()
        #expect(test.kernel.events.contains(.entry(.root, "a")))
        #expect(test.kernel.events.contains(.attributes(.root)))
        #expect(try await test.contents("a") == "text")
    }

    @Test func aRenameThereMovesTheNode() async throws {
        try test.remote.put("a", "text")
        let node = try await test.lookUp("a").node
        _ = try test.remote.rename("a", to: "b")
        try await test.refresh()
        #expect(try await test.find("a") == nil)
        #expect(try await test.lookUp("b").node == node)
        #expect(test.kernel.events.contains(.entry(.root, "a")))
        #expect(test.kernel.events.contains(.entry(.root, "b")))
    }

    /// Other programs save by renaming over.
    @Test func aDocumentReplacedByAnotherItemIsShown() async throws {
        try test.remote.put("a", "old")
        try test.remote.put("a.tmp", "new one")
        #expect(try await test.contents("a") == "old")
        try test.remote.remove("a")
        _ = try test.remote.rename("a.tmp", to: "a")
        try await test.refresh()
        #expect(try await test.contents("a") == "new one")
        #expect(try test.pendingNames() == [])
        #expect(try test.catalog.read { try $0.children(of: .root, after: 0, limit: 9) }.map(\.name) == ["a"])
    }

    @Test func aDocumentRecreatedUnderItsNameIsShown() async throws {
        try test.remote.put("a", "old")
        #expect(try await test.contents("a") == "old")
        try test.remote.remove("a")
        try test.remote.put("a", "recreated")
        try await test.refresh()
        #expect(try await test.contents("a") == "recreated")
        #expect(try test.pendingNames() == [])
    }
}
