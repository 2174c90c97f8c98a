import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import ItemCatalog
import SyncEngine
import Synchronization
import Testing
import Trees
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
        // Of a file that is only his it says nothing bad.
        try test.volume.synchronize(handle)
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

    enum Late: CaseIterable { case read, write, truncate }

    /// The catalog knows that the store deleted it, and the kernel does not yet: what would be written was lost.
    @Test(arguments: Late.allCases)
    func whoComesByTheNameOfWhatTheStoreDeletedIsSentToLookAgain(late: Late) async throws {
        try test.remote.put("a", "old bytes")
        #expect(try await test.contents("a") == "old bytes")
        let old = try await test.lookUp("a")
        let reader = try test.volume.open(old.node, flags: O_RDONLY).handle
        let identifier = try #require(test.remote.item(at: "a")?.identifier)
        try test.remote.remove("a")
        try test.catalog.write {
            try $0.mergeDeletion(of: identifier, defaults: PlaceholderDefaults(uid: 1_000, gid: 1_000))
        }
        let error = await errnoOf {
            switch late {
            case .read: _ = try test.volume.open(old.node, flags: O_RDONLY)
            case .write: _ = try test.volume.open(old.node, flags: O_RDWR | O_APPEND)
            case .truncate:
                _ = try test.volume.setAttributes(
                    old.node, to: AttributeRequest(attributes: AttributeChange(), size: 3))
            }
        }
        #expect(error == ESTALE)
        #expect(try test.catalog.read { try $0.inode(old.attributes.record.id).writing } == nil)
        #expect(try await test.read(reader) == Array("old bytes".utf8))
        test.volume.close(reader)
    }

    /// `/proc/self/fd` of a file that was removed here.
    @Test func whatIsRemovedHereIsOpenedAgain() async throws {
        try test.remote.put("a", "old bytes")
        let old = try await test.lookUp("a")
        let handle = try test.volume.open(old.node, flags: O_RDWR).handle
        #expect(try await test.read(handle) == Array("old bytes".utf8))
        try await test.answer { try test.volume.unlink("a", in: .root) }
        let second = try test.volume.open(old.node, flags: O_RDWR).handle
        try test.write(second, "OLD")
        #expect(try await test.read(handle) == Array("OLD bytes".utf8))
        test.volume.close(second)
        test.volume.close(handle)
    }

    /// The catalog has the new version, and the node has not been told yet.
    @Test func beforeTheNodeIsToldTheOldVersionLooksAsItDid() async throws {
        try test.remote.put("a", "old bytes")
        let old = try await test.lookUp("a")
        let handle = try test.volume.open(old.node, flags: O_RDONLY).handle
        #expect(try await test.read(handle) == Array("old bytes".utf8))
        try test.remote.put("a", "new")
        let items = try await test.remote.enumerateItems(in: .rootContainer, startingAt: nil).items
        let defaults = PlaceholderDefaults(uid: 1_000, gid: 1_000)
        _ = try test.catalog.write { try $0.mergeListing(of: .root, items, defaults: defaults) }
        let seen = try test.volume.attributes(of: old.node)
        #expect(seen.record.size == 9)
        #expect(!seen.isStable, "not to be kept")
        #expect(try await test.read(handle) == Array("old bytes".utf8))
        test.volume.close(handle)
    }

    /// A part of the old version is here: the rest of it never comes from the new one.
    @Test func theRestOfAnOldVersionIsNeverOfTheNewOne() async throws {
        try test.remote.put("a", String(repeating: "o", count: 20_000))
        try test.remote.put("b", "other")
        let handle = try await test.open("a").handle
        test.provider.plan.inject(.disconnect(after: 5_000, .undone), into: .startProvidingItem)
        #expect(try await test.read(handle, 0, 100) == Array(repeating: UInt8(ascii: "o"), count: 100))
        try test.remote.put("a", String(repeating: "n", count: 20_000))
        try await test.refresh()
        // Downloads of others come and go.
        #expect(try await test.contents("b") == "other")
        let rest = try? await test.read(handle, 10_000, 100)
        #expect(rest == nil || rest == Array(repeating: UInt8(ascii: "o"), count: 100))
        #expect(try await test.read(handle, 0, 100) == Array(repeating: UInt8(ascii: "o"), count: 100))
        test.volume.close(handle)
        #expect(try await test.contents("a") == String(repeating: "n", count: 20_000))
    }

    /// The change is noticed only because the download is refused.
    @Test func aReadThatFindsAnotherVersionBringsThatOne() async throws {
        try test.remote.put("a", "old bytes")
        let handle = try await test.open("a").handle
        try test.remote.put("a", "newer")
        #expect(try await test.read(handle) == Array("newer".utf8))
        test.volume.close(handle)
    }

    enum Meanwhile: CaseIterable { case nothing, lookup, open }

    /// The kernel repeats an open that gets ESTALE, but not a read.
    @Test(arguments: Meanwhile.allCases)
    func aHandleThatHasReadNothingGetsTheNewVersionBeforeTheVolumeIsToldOfIt(meanwhile: Meanwhile) async throws {
        try test.remote.put("a", "old bytes")
        let handle = try await test.open("a").handle
        try test.remote.put("a", "newer")
        let items = try await test.remote.enumerateItems(in: .rootContainer, startingAt: nil).items
        let changes = try test.unpublished {
            _ = try $0.mergeListing(of: .root, items, defaults: PlaceholderDefaults(uid: 1_000, gid: 1_000))
        }
        switch meanwhile {
        case .nothing: break
        case .lookup: #expect(try await test.lookUp("a").attributes.record.size == 5)
        case .open: #expect(try await test.contents("a") == "newer")
        }
        #expect(try await test.read(handle) == Array("newer".utf8))
        test.volume.catalogChanged(changes)
        #expect(try await test.read(handle) == Array("newer".utf8))
        test.volume.close(handle)
        #expect(try await test.contents("a") == "newer")
    }

    /// Versions come all the time: no program that has opened the document is refused its bytes.
    @Test func noReadFailsBecauseVersionsCome() async throws {
        try test.remote.put("a", "version 0")
        _ = try await test.lookUp("a")
        let state = Mutex((versions: 0, isOver: false))
        async let versions: Void = {
            while !state.withLock({ $0.isOver }) {
                let version = state.withLock { state in
                    state.versions += 1
                    return state.versions
                }
                try test.remote.put("a", "version \(version)")
                try await test.refresh()
            }
        }()
        defer { state.withLock { $0.isOver = true } }
        // (The task that makes versions may get its first turn long after this one.)
        var reads = 0
        while reads < 400 || state.withLock({ $0.versions }) < 20 {
            reads += 1
            await Task.yield()
            let handle: HandleID
            do { handle = try await test.open("a").handle } catch let error as VolumeError {
                #expect(error.errno == ESTALE, "\(error)")
                continue
            }
            let text = String(decoding: try await test.read(handle), as: UTF8.self)
            #expect(text.hasPrefix("version "))
            test.volume.close(handle)
        }
        state.withLock { $0.isOver = true }
        try await versions
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

    /// Who has looked it up by now goes on with what he has found.
    @Test func aNewItemIsAnnounced() async throws {
        #expect(try await test.find("a") == nil)
        try test.remote.put("a", "text")
        test.kernel.forgetEvents()
        try await test.refresh()
        #expect(test.kernel.events.contains(.expiry(.root, "a")))
        #expect(!test.kernel.events.contains(.entry(.root, "a")))
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

    /// A program moves it back, and the store has moved it meanwhile: then it goes where the store has it.
    @Test(arguments: [false, true]) func aMoveThatIsTakenBackStandsAgainstNothing(_ isExchange: Bool) async throws {
        for path in ["a", "b", "d/x"] { try test.remote.put(path, path) }
        test.engine.start()
        let (a, b) = (try await test.lookUp("a").attributes.record.id, try await test.lookUp("b").attributes.record.id)
        func move(_ from: Filename, _ to: Filename) async throws {
            let volume = test.volume
            try await test.answer {
                isExchange
                    ? try volume.exchange(from, in: .root, with: to, in: .root)
                    : try volume.rename(from, in: .root, to: to, in: .root, noReplace: true)
            }
        }
        let other: Filename = isExchange ? "b" : "c"
        try await move("a", other)
        _ = try test.remote.rename("a", to: "d/a")
        try await test.refresh()
        #expect(try await test.lookUp(other.string).attributes.record.id == a)
        try await move(other, "a")
        #expect(try await eventually { try test.catalog.read { try $0.path(of: a)?.map(\.string) } == ["d", "a"] })
        #expect(try await test.lookUp("b").attributes.record.id == b)
        #expect(try await test.find("a") == nil)
        #expect(try test.pendingNames() == [])
    }

    /// The same, of who only reads it: what it has is what others come to.
    @Test func whoReadsTheNewVersionAlreadyHasIt() async throws {
        try test.remote.put("a", "old bytes")
        _ = try await test.contents("a")
        let changed = try test.remote.put("a", "theirs")
        let changes = try test.unpublished {
            try $0.mergeItem(changed, defaults: PlaceholderDefaults(uid: 1_000, gid: 1_000))
        }
        let node = try await test.lookUp("a").node
        let handle = try test.volume.open(node, flags: O_RDONLY).handle
        test.volume.catalogChanged(changes)
        #expect(try await test.lookUp("a").node == node)
        let another = try test.volume.open(node, flags: O_RDONLY).handle
        #expect(try await test.read(another) == Array("theirs".utf8))
        test.volume.close(another)
        test.volume.close(handle)
    }

    /// The store's new version is in the catalog, and a program has it open before the volume is told: it is not the
    /// version before.
    @Test(arguments: [false, true]) func whoHasTheNewVersionAlreadyKeepsIt(_ passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        try test.remote.put("a", "old bytes")
        _ = try await test.contents("a")
        let changed = try test.remote.put("a", "theirs")
        let changes = try test.unpublished {
            try $0.mergeItem(changed, defaults: PlaceholderDefaults(uid: 1_000, gid: 1_000))
        }
        #expect(changes.contains { if case .contents = $0 { true } else { false } })
        let handle = try await test.open("a", O_WRONLY | O_TRUNC).handle
        try test.write(handle, "mine")
        test.volume.catalogChanged(changes)
        try test.write(handle, "mine, all of it")
        try test.close(handle)
        #expect(try await test.contents("a") == "mine, all of it")
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("mine, all of it".utf8))
    }
}
