import FileProvider
import ItemCatalog
import Testing
import Trees

/// The provider's changes against local ones.
@Suite struct ReconcileTests {
    private let catalog: TestCatalog

    init() throws { catalog = try TestCatalog() }

    private func gone(_ identifier: String) throws -> [CatalogChange] {
        try catalog.catalog.write { writer in
            try writer.mergeDeletion(of: ItemIdentifier(identifier), defaults: catalog.defaults)
            return writer.changes
        }
    }

    @Test func anItemGoneThereIsGoneHere() throws {
        try catalog.list([remote("A", "a"), remote("F", "f", kind: .folder)])
        let inode = try catalog.inode("a").id
        let changes = try gone("A")
        #expect(try catalog.names() == ["f"])
        #expect(try catalog.inode(inode).linkCount == 0)
        #expect(changes.contains(.entry(folder: .root, name: "a")))
        #expect(changes.contains(.removed(inode)))
        #expect(try catalog.item(identified: "A") == nil)
        _ = try gone("F")
        #expect(try catalog.inode(.root).linkCount == 2)
        #expect(try catalog.pendingNames() == [])
    }

    @Test func aFolderTakesWhatIsInItAlong() throws {
        try catalog.list([remote("F", "f", kind: .folder)])
        let folder = try catalog.inode("f").id
        try catalog.list([remote("G", "g", kind: .folder, in: "F"), remote("X", "x", in: "F")], in: folder)
        try catalog.list([remote("Y", "y", in: "G")], in: try catalog.inode("g", in: folder).id)
        _ = try gone("F")
        #expect(try catalog.names() == [])
        for identifier in ["F", "G", "X", "Y"] { #expect(try catalog.item(identified: identifier) == nil) }
        #expect(try catalog.catalog.read { try $0.orphans() }.count == 4)
        #expect(try catalog.pendingNames() == [])
    }

    @Test func workInADeletedFolderIsMadeAnew() throws {
        try catalog.list([remote("F", "f", kind: .folder)])
        let folder = try catalog.inode("f").id
        try catalog.list([remote("X", "x", in: "F"), remote("Y", "y", in: "F")], in: folder)
        try catalog.edit(try catalog.inode("x", in: folder).id)
        _ = try gone("F")
        #expect(try catalog.names() == ["f"])
        #expect(try catalog.names(folder) == ["x"])
        #expect(try catalog.item("f").identifier == nil)
        let edited = try catalog.item("x", in: folder)
        #expect(edited.identifier == nil && edited.contentRevision > 0 && edited.base == nil)
        // The folder first; what is in it when that is confirmed.
        #expect(try catalog.pending().map(\.item.local?.name) == ["f"])
        try catalog.confirm(folder, as: "F2")
        #expect(try catalog.pending().map(\.item.local?.name) == ["x"])
    }

    @Test func modifiedWorkOutlivesTheDeletion() throws {
        try catalog.list([remote("A", "a")])
        let inode = try catalog.inode("a").id
        try catalog.edit(inode, size: 55)
        _ = try gone("A")
        #expect(try catalog.inode("a").id == inode)
        #expect(try catalog.inode("a").size == 55)
        let item = try catalog.item("a")
        #expect(item.identifier == nil && item.remote == nil && item.contentRevision > 0)
        #expect(try catalog.pending().map(\.item.id) == [item.id])
    }

    @Test func aDocumentBeingWrittenOutlivesTheDeletion() throws {
        try catalog.list([remote("A", "a")])
        let inode = try catalog.inode("a")
        try catalog.catalog.write {
            try $0.beginWriting(inode.id, generation: inode.generation, mark: .maybeModified(.none))
        }
        _ = try gone("A")
        #expect(try catalog.names() == ["a"])
    }

    @Test func aLocalRenameStandsAgainstARemoteOne() throws {
        try catalog.list([remote("A", "a")])
        try catalog.rename("a", "mine")
        try catalog.list([remote("A", "theirs", metadata: "m2")])
        #expect(try catalog.names() == ["mine"])
        let item = try catalog.item("mine")
        #expect(item.base?.name == "a" && item.remote?.name == "theirs")
        #expect(try catalog.pending().count == 1)
    }

    @Test func theSameRenameOnBothSidesIsDone() throws {
        try catalog.list([remote("A", "a")])
        try catalog.rename("a", "b")
        try catalog.list([remote("A", "b", metadata: "m2")])
        #expect(try catalog.names() == ["b"])
        #expect(try catalog.pendingNames() == [])
    }

    @Test func aLocalDeletionStandsAgainstAListing() throws {
        let items = [remote("A", "a")]
        try catalog.list(items)
        try catalog.unlink("a")
        try catalog.list(items)
        #expect(try catalog.names() == [])
        #expect(try catalog.pending().count == 1)
    }

    /// Edited and renamed here, renamed there: the next attempt must carry the store's newest word, or it
    /// is refused for ever.
    @Test func anEditedItemLearnsOfANewMetadataVersion() throws {
        try catalog.list([remote("A", "a")])
        try catalog.edit(try catalog.inode("a").id)
        try catalog.rename("a", "mine")
        try catalog.list([remote("A", "theirs", metadata: "m2")])
        #expect(try catalog.item("mine").baseVersion == version("v1", "m2"))
    }

    @Test func aLocalNewNameGivesWayToARemoteMove() throws {
        try catalog.list([remote("A", "a")])
        let mine = try catalog.create("b").id
        try catalog.list([remote("A", "b", metadata: "m2")])
        #expect(try catalog.item("b").identifier == ItemIdentifier("A"))
        let names = try catalog.names()
        #expect(names.count == 2)
        let other = try #require(names.first { $0 != "b" })
        #expect(other.hasPrefix("b (conflicted copy, "))
        #expect(try catalog.inode(Filename(other)).id == mine)
    }

    @Test func aListingNeverTouchesAChmodOfOurs() throws {
        try catalog.list([remote("A", "a", mode: 0o600)])
        let inode = try catalog.inode("a").id
        _ = try catalog.catalog.write {
            try $0.setAttributes(inode, to: AttributeChange(mode: 0o700), settle: 0)
        }
        #expect(try catalog.pendingNames() == ["a"])
        try catalog.list([remote("A", "a", metadata: "m2", mode: 0o644)])
        #expect(try catalog.inode("a").mode == 0o700)
        #expect(try catalog.pendingNames() == ["a"])
    }

    @Test func timesAndOwnersAreNotAllTheProvidersBusiness() throws {
        try catalog.list([remote("A", "a")])
        let inode = try catalog.inode("a").id
        _ = try catalog.catalog.write {
            try $0.setAttributes(
                inode, to: AttributeChange(uid: 5, gid: 6, accessed: FileTime(seconds: 9)), settle: 0)
        }
        #expect(try catalog.pendingNames() == [])
        #expect(try catalog.inode("a").uid == 5)
        #expect(try catalog.inode("a").accessed == FileTime(seconds: 9))
        let touched = try catalog.catalog.write {
            try $0.setAttributes(inode, to: AttributeChange(modified: FileTime(seconds: 11)), settle: 0)
        }
        #expect(touched.modified == FileTime(seconds: 11))
        #expect(try catalog.pendingNames() == ["a"])
    }

    @Test func evictionIsANewGeneration() throws {
        try catalog.list([remote("A", "a", size: 10)])
        let inode = try catalog.inode("a")
        _ = try catalog.catalog.write { try $0.recordExtents(inode.id, generation: inode.generation, extents: nil) }
        let (old, changes) = try catalog.catalog.write { writer in (try writer.evict(inode.id), writer.changes) }
        #expect(old == inode.generation)
        #expect(changes == [.contents(inode.id)])
        let after = try catalog.inode("a")
        #expect(after.generation == old + 1 && after.extents == RangeSet() && after.size == 10)
        // The late word of a download of the old one counts for nothing.
        _ = try catalog.catalog.write { try $0.recordExtents(inode.id, generation: old, extents: nil) }
        #expect(try catalog.inode("a").extents == RangeSet())
    }

    /// Where nothing is here there is nothing to make it anew from: it would wait for its bytes for ever.
    @Test func aPlaceholderThatWasOnlyMovedGoesWithTheStores() throws {
        try catalog.list([remote("A", "a", size: 10), remote("B", "b", size: 10), remote("C", "c", size: 0)])
        let (b, c) = (try catalog.inode("b").id, try catalog.inode("c").id)
        for name in ["a", "b", "c"] as [Filename] { try catalog.rename(name, Filename(name.string + "2")) }
        try catalog.catalog.write { writer in
            _ = try writer.setAttributes(
                try writer.child(of: .root, named: "a2")!.id, to: AttributeChange(mode: 0o600), settle: 0)
            try writer.recordExtents(b, generation: 1, extents: nil)
            for identifier in ["A", "B", "C"] {
                try writer.mergeDeletion(of: ItemIdentifier(identifier), defaults: catalog.defaults)
            }
        }
        #expect(try catalog.names() == ["b2", "c2"])
        #expect(try catalog.inode("b2").id == b && catalog.inode("c2").id == c)
        #expect(try catalog.outstanding() == ["create b2", "create c2"])
    }

    /// In the store /e went to /d, another /e was made, and /d went into it: each waits for the other's name.
    @Test(arguments: [["e"], ["between", "e"], ["between", "inside", "e"]], [false, true])
    func aFolderGoesIntoOneThatHasItsName(path: [Filename], isInnerFirst: Bool) throws {
        try catalog.list([remote("E", "e", kind: .folder)])
        let inner = try catalog.inode("e").id
        try catalog.list(
            [remote("A", "a", in: "E")] + (path.count > 2 ? [remote("P1", "inside", kind: .folder, in: "E")] : []),
            in: inner)
        // The folder between them was in the inner one before, or is new.
        let names = path.dropLast()
        var items = [remote("X", "e", kind: .folder)]
        for (index, name) in names.enumerated() {
            items.append(remote("P\(index)", name, kind: .folder, in: index == 0 ? "X" : "P\(index - 1)"))
        }
        items.append(remote("E", "e", kind: .folder, in: names.isEmpty ? "X" : "P\(names.count - 1)"))
        if isInnerFirst { items.reverse() }
        _ = try catalog.catalog.write {
            try $0.mergeChanges(
                updated: items, deleted: [], showing: Set(items.map(\.identifier)), defaults: catalog.defaults)
        }
        #expect(try catalog.names() == ["e"])
        #expect(try catalog.item("e").identifier == ItemIdentifier("X"))
        var folder = try catalog.inode("e").id
        for name in names { folder = try catalog.inode(name, in: folder).id }
        #expect(try catalog.inode("e", in: folder).id == inner)
        #expect(try catalog.names(inner) == ["a"])
        #expect(try catalog.pendingNames() == [])
    }
}
