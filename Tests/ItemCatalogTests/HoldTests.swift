import FileProvider
import MountHarness
import Testing

@testable import ItemCatalog
@testable import Trees

/// Deletions in the store that wait for a person.
@Suite struct HoldTests {
    private let test: TestCatalog
    private var catalog: Catalog { test.catalog }

    init() throws { test = try TestCatalog() }

    /// `count` documents in the root, all of them downloaded.
    private func fill(_ count: Int, content: String = "v1", prefix: String = "i") throws -> [Item] {
        let items = (0..<count).map { remote("\(prefix)\($0)", Filename("doc\($0)"), content: content, size: 0) }
        try test.list(items)
        return items
    }

    private func delete(_ items: some Sequence<Item>) throws {
        try catalog.write { try $0.mergeDeletions(of: items.map(\.identifier), defaults: test.defaults) }
    }

    private func held() throws -> HeldDeletions? { try catalog.read { try $0.heldDeletions() } }

    @Test func muchAtOnceIsHeldAsAWhole() throws {
        let items = try fill(100)
        try delete(items.prefix(21))
        #expect(try held()?.items == 21)
        #expect(try test.names().count == 100)
        #expect(try test.pendingNames() == [])
        #expect(try test.item("doc0").identifier != nil)
    }

    /// Twenty, or the share, whichever is more.
    @Test(arguments: [(30, 20, false), (30, 21, true), (1_000, 100, false), (1_000, 101, true)])
    func theShare(known: Int, gone: Int, isHeld: Bool) throws {
        let items = try fill(known)
        try delete(items.prefix(gone))
        #expect(try held()?.items == (isHeld ? gone : nil))
        #expect(
            try catalog.read { try $0.children(of: .root, after: 0, limit: 2_000) }.count
                == (isHeld ? known : known - gone))
    }

    @Test func stepByStepCountsTogether() throws {
        let items = try fill(100)
        for item in items { try delete([item]) }
        #expect(try test.names().count == 80)
        #expect(try held()?.items == 80)
    }

    @Test func whatWentLongAgoDoesNotCount() throws {
        let items = try fill(100)
        try delete(items.prefix(20))
        let old = FileTime.now.adding(seconds: -3_601).nanoseconds
        try SQLite.execute("UPDATE vanished SET moment = \(old)", in: catalog.path)
        try delete(items[20..<40])
        #expect(try held() == nil)
        #expect(try test.names().count == 60)
    }

    /// The clock was set back: they were deleted at moments that have not come.
    @Test func whatWentBeforeTheClockWasSetBackCounts() throws {
        let items = try fill(100)
        try delete(items.prefix(20))
        try SQLite.execute("UPDATE vanished SET moment = moment + 7200000000000", in: catalog.path)
        try delete(items[20..<40])
        #expect(try held()?.items == 20)
        #expect(try SQLite.execute("SELECT SUM(items) FROM vanished", in: catalog.path) == [["40"]])
    }

    @Test func aTreeIsHeldWithItsFolders() throws {
        try test.list([remote("f", "folder", kind: .folder), remote("z", "z")])
        let folder = try test.inode("folder").id
        try test.list((0..<30).map { remote("i\($0)", Filename("doc\($0)"), size: 0, in: "f") }, in: folder)
        try catalog.write { try $0.mergeDeletion(of: ItemIdentifier("f"), defaults: test.defaults) }
        #expect(try held()?.items == 31)
        #expect(try test.names(folder).count == 30)
        #expect(try test.names() == ["folder", "z"])
        // The same said once more changes nothing.
        try catalog.write { try $0.mergeDeletion(of: ItemIdentifier("f"), defaults: test.defaults) }
        #expect(try held()?.items == 31)
    }

    @Test func whatComesBackIsHeldNoMore() throws {
        let items = try fill(50)
        try delete(items)
        #expect(try held()?.items == 50)
        try test.list(items)
        #expect(try held() == nil)
        #expect(try test.pendingNames() == [])
        // As if nothing had been: a single one goes at once.
        try delete(items.prefix(1))
        #expect(try held() == nil)
        #expect(try test.names().count == 49)
    }

    /// A server that was restored gives out other identifiers.
    @Test func underOtherIdentifiersItIsTheSameAgain() throws {
        try test.list([remote("f", "folder", kind: .folder)])
        let folder = try test.inode("folder").id
        let inside = (0..<30).map { remote("i\($0)", Filename("doc\($0)"), size: 0, in: "f") }
        try test.list(inside, in: folder)
        let inode = try test.inode("doc3", in: folder)
        try catalog.write { try $0.mergeDeletion(of: ItemIdentifier("f"), defaults: test.defaults) }
        try test.list([remote("F", "folder", kind: .folder)])
        #expect(try test.inode("folder").id == folder)
        #expect(try held()?.items == 30)
        let again = inside.map {
            var item = $0
            item.identifier = ItemIdentifier("new-" + $0.identifier.rawValue)
            item.parentIdentifier = ItemIdentifier("F")
            return item
        }
        try test.list(again, in: folder)
        #expect(try held() == nil)
        #expect(try test.names(folder).count == 30)
        #expect(try test.inode("doc3", in: folder) == inode)
        #expect(try test.item("doc3", in: folder).identifier == ItemIdentifier("new-i3"))
        #expect(try test.pendingNames() == [])
    }

    /// The other client saves by replacing, as `sed -i` does: nothing is gone.
    @Test func whatIsReplacedDoesNotCount() throws {
        _ = try fill(100)
        let new = (0..<100).map { remote("n\($0)", Filename("doc\($0)"), content: "v2", size: 0) }
        let missing = try test.list(new).missing
        #expect(missing.count == 100)
        try catalog.write { try $0.mergeDeletions(of: missing, defaults: test.defaults) }
        #expect(try held() == nil)
        #expect(try test.names().count == 100)
        #expect(try test.item("doc7").identifier == ItemIdentifier("n7"))
    }

    @Test func anotherKindOfThingTakesTheName() throws {
        let items = try fill(30)
        try delete(items)
        try test.list([remote("f", "doc3", kind: .folder)])
        #expect(try test.item("doc3").identifier == ItemIdentifier("f"))
        #expect(try test.names().count == 31)
        #expect(try test.names().contains { $0.hasPrefix("doc3 (conflicted copy") })
        #expect(try held()?.items == 30)
        #expect(try test.pendingNames() == [])
    }

    @Test func whatIsMovedThereTakesTheName() throws {
        let items = try fill(60)
        try delete(items.prefix(30))
        var moved = items[40]
        moved.filename = "doc3"
        try catalog.write { try $0.mergeItem(moved, defaults: test.defaults) }
        #expect(try test.item("doc3").identifier == moved.identifier)
        #expect(try held()?.items == 30)
        #expect(try test.names().count == 60)
    }

    // MARK: A person's word

    @Test func theDeletionIsCarriedOut() throws {
        let items = try fill(50)
        try delete(items)
        #expect(try catalog.write { try $0.carryOutDeletions(within: .root, defaults: test.defaults) } == 50)
        #expect(try test.names() == [])
        #expect(try held() == nil)
        #expect(try test.pendingNames() == [])
    }

    @Test func onlyWhatIsNamed() throws {
        let items = try fill(50)
        try delete(items)
        let one = try test.item("doc5")
        #expect(try catalog.write { try $0.carryOutDeletions(within: one.id, defaults: test.defaults) } == 1)
        #expect(try test.names().count == 49 && held()?.items == 49)
    }

    @Test func itIsPutBackWithItsFolders() throws {
        try test.list([remote("f", "folder", kind: .folder)])
        let folder = try test.inode("folder").id
        try test.list(
            (0..<30).map { remote("i\($0)", Filename("doc\($0)"), size: $0 == 0 ? 10 : 0, in: "f") }, in: folder)
        try catalog.write { try $0.mergeDeletion(of: ItemIdentifier("f"), defaults: test.defaults) }
        #expect(try held() == HeldDeletions(items: 31, incomplete: 1, since: held()!.since))
        let (restored, incomplete) = try catalog.write { try $0.putBack(within: .root) }
        #expect(restored == 30 && incomplete == 1)
        #expect(try held()?.items == 1)
        // The folder first; what is in it waits for it.
        #expect(try test.pending().map(\.item.local!.name) == ["folder"])
        try test.confirm(folder, as: "F")
        #expect(try test.pending().count == 29)
        #expect(try test.item("doc0", in: folder).heldSince != nil)
    }

    @Test func aFolderWithAChangeInItIsPutBackForIt() throws {
        try test.list([remote("f", "folder", kind: .folder)])
        let folder = try test.inode("folder").id
        try test.list((0..<30).map { remote("i\($0)", Filename("doc\($0)"), size: 0, in: "f") }, in: folder)
        try catalog.write { try $0.mergeDeletion(of: ItemIdentifier("f"), defaults: test.defaults) }
        try test.edit(test.inode("doc3", in: folder).id)
        #expect(try test.pendingNames() == ["doc3"])
        let item = try test.item("doc3", in: folder)
        #expect(try catalog.write { try $0.putBack(item.id) })
        #expect(try test.pending().map(\.item.local!.name) == ["folder"])
        #expect(try held()?.items == 29)
    }

    @Test func whatIsDeletedHereAsWellIsForgotten() throws {
        let items = try fill(30)
        try delete(items)
        try test.unlink("doc3")
        #expect(try held()?.items == 29)
        let gone = try #require(try catalog.read { try $0.allPending(limit: 10) }.first)
        try catalog.write { try $0.confirmDeletion(gone.id, defaults: test.defaults) }
        #expect(try test.pendingNames() == [] && test.names().count == 29)
    }

    @Test func nothingHeldIsEvictedOrFetched() throws {
        let items = (0..<30).map { remote("i\($0)", Filename("doc\($0)"), size: 10) }
        try test.list(items)
        try catalog.write { writer in
            for index in 0..<30 {
                let inode = try writer.resolve([Filename("doc\(index)")])
                try writer.recordExtents(inode.id, generation: inode.generation, extents: nil)
            }
        }
        #expect(try catalog.read { try $0.evictionCandidates(after: nil, limit: 100) }.count == 30)
        try delete(items)
        #expect(try catalog.read { try $0.evictionCandidates(after: nil, limit: 100) } == [])
    }

    @Test func itOutlivesTheProcess() throws {
        try delete(try fill(30))
        let other = try Catalog(path: catalog.path, domain: "test:", owner: (0, 0))
        defer { other.close() }
        #expect(try other.read { try $0.heldDeletions() }?.items == 30)
    }

    @Test func aHundredPercentIsNever() {
        #expect(!DeletionHold(percent: 100).isExceeded(by: 1_000, of: 1_000))
        #expect(DeletionHold(percent: 0).isExceeded(by: 21, of: 1_000_000))
        #expect(!DeletionHold(percent: 0).isExceeded(by: 20, of: 20))
    }
}
