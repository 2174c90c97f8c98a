import FileProvider
import ItemCatalog
import Testing
import Trees

/// Table `conflict`: who is in it, and for how long.
@Suite struct ConflictRecordTests {
    private let catalog: TestCatalog

    init() throws {
        catalog = try TestCatalog()
        try catalog.list([])
    }

    private func conflicts() throws -> [ConflictRecord] { try catalog.catalog.read { try $0.conflicts() } }

    private func only() throws -> ConflictRecord {
        let all = try conflicts()
        #expect(all.count == 1)
        return try all.first.orThrow("no conflict")
    }

    private func findings() throws -> [CatalogFinding] { try catalog.catalog.read { try $0.examine() } }

    /// `a.txt`, changed on both sides; the copy's name.
    private func collide() throws -> Filename {
        let inode = try catalog.document("a.txt", "A")
        try catalog.edit(inode.id, size: 44)
        let item = try catalog.item("a.txt")
        return try catalog.catalog.write {
            try $0.keepBoth(item.id, current: remote("A", "a.txt", content: "v2", size: 22), defaults: catalog.defaults)
        }.orThrow("no copy")
    }

    @Test func aDocumentChangedOnBothSides() throws {
        let copy = try collide()
        let conflict = try only()
        #expect(conflict.reason == .bothChanged)
        #expect(conflict.original == (try catalog.item("a.txt").id))
        #expect(conflict.copy == (try catalog.inode(copy).id))
        #expect(try catalog.catalog.read { try $0.conflicts(of: try $0.inode(conflict.copy).id) } == [conflict])
        #expect(try catalog.catalog.read { try $0.conflictCount() } == 1)
    }

    @Test func aProgramKeptBoth() throws {
        let original = try catalog.document("a.txt", "A")
        let copy = try catalog.create("b.txt")
        // Said twice it is one.
        for _ in 0..<2 { try catalog.catalog.write { try $0.noteConflict(original: original.id, copy: copy.id) } }
        let conflict = try only()
        #expect(conflict.reason == .editedMeanwhile && conflict.copy == copy.id)
        #expect(conflict.original == (try catalog.item("a.txt").id))
        #expect(throws: CatalogError.self) {
            try catalog.catalog.write { try $0.noteConflict(original: original.id, copy: original.id) }
        }
        #expect(try findings().isEmpty)
    }

    @Test func aNameThatBothMade() throws {
        let inode = try catalog.create("a")
        let item = try catalog.item("a")
        _ = try catalog.catalog.write {
            try $0.keepBoth(item.id, current: remote("A", "a", size: 8), defaults: catalog.defaults)
        }
        let conflict = try only()
        #expect(conflict.reason == .bothMade && conflict.copy == inode.id)
        #expect(conflict.original == (try catalog.item("a").id))
    }

    @Test(arguments: [true, false]) func aMoveToATakenName(isSaid: Bool) throws {
        try catalog.list([remote("A", "a")])
        try catalog.rename("a", "b")
        let moved = try catalog.item("b")
        if !isSaid { try catalog.list([remote("A", "a"), remote("B", "b", size: 5)]) }
        try catalog.catalog.write {
            try $0.giveWay(moved.id, to: isSaid ? remote("B", "b", size: 5) : nil, defaults: catalog.defaults)
        }
        if !isSaid {
            try catalog.catalog.write {
                try $0.reconcile([$0.item(identifiedBy: ItemIdentifier("B"))!.id], defaults: catalog.defaults)
            }
        }
        let conflict = try only()
        #expect(conflict.reason == .nameTaken && conflict.copy == moved.inode)
        #expect(conflict.original == (try catalog.item("b").id))
    }

    @Test func aMoveInTheStoreOntoANewName() throws {
        try catalog.list([remote("A", "a")])
        let mine = try catalog.create("b")
        try catalog.list([remote("A", "b")])
        let conflict = try only()
        #expect(conflict.reason == .nameTaken && conflict.copy == mine.id)
        #expect(conflict.original == (try catalog.item("b").id))
    }

    @Test func aReplacedDocumentThatAProgramWrites() throws {
        let inode = try catalog.document("a.txt", "A")
        try catalog.catalog.write { writer in
            writer.transaction.linkContents = { _, _, _ in }
            try writer.beginWriting(inode.id, generation: inode.generation, mark: .modified)
            try writer.recordWritten(inode.id, size: 5, modified: .now, mark: .modified, settle: nil)
            _ = try writer.mergeListing(
                of: .root, [remote("A", "a.txt", content: "v2", size: 9)], defaults: catalog.defaults)
        }
        let conflict = try only()
        #expect(conflict.reason == .replacedWhileWritten)
        #expect(conflict.original == (try catalog.item("a.txt").id))
    }

    @Test func itGoesWithTheCopy() throws {
        let copy = try collide()
        let inode = try catalog.unlink(copy)
        // Not shown at once, and gone with the inode.
        #expect(try conflicts().isEmpty)
        try catalog.catalog.write { try $0.deleteInode(inode.id) }
        #expect(try catalog.catalog.read { try $0.conflictCount() } == 0)
    }

    @Test func itGoesWithTheOriginal() throws {
        _ = try collide()
        try catalog.unlink("a.txt")
        #expect(try conflicts().isEmpty)
        // Taken back, it is one again.
        let item = try catalog.item(identified: "A").orThrow("no item")
        try catalog.catalog.write {
            try $0.takeBackDeletion(item.id, current: nil, defaults: catalog.defaults)
        }
        #expect(try conflicts().count == 1)
    }

    @Test func aSaveOfTheCopyByRenamingKeepsIt() throws {
        let copy = try collide()
        let draft = try catalog.create("draft")
        try catalog.rename("draft", copy)
        #expect(try only().copy == draft.id)
    }

    // MARK: Resolving

    @Test(arguments: [true, false]) func mineBecomesTheOriginalsNextVersion(isConfirmed: Bool) throws {
        let copy = try collide()
        if isConfirmed { try catalog.confirm(try catalog.inode(copy).id, as: "C") }
        let (conflict, original) = (try only(), try catalog.item("a.txt"))
        let changes = try catalog.catalog.write { writer in
            try writer.keepCopy(conflict)
            return writer.changes
        }
        #expect(try catalog.names() == ["a.txt"])
        let item = try catalog.item("a.txt")
        #expect(item.id == original.id && item.identifier == ItemIdentifier("A") && item.baseVersion == version("v2"))
        #expect(item.contentRevision != 0 && item.inode == conflict.copy)
        #expect(try catalog.inode("a.txt").size == 44)
        #expect(changes.contains(.entry(folder: .root, name: "a.txt")) && changes.contains(.removed(original.inode!)))
        #expect(try conflicts().isEmpty)
        #expect(try findings().isEmpty)
        // The copy leaves the store after the bytes are there under the original, not before.
        #expect(try catalog.outstanding() == (isConfirmed ? ["change A", "delete C"] : ["change A"]))
        #expect(try catalog.pending().filter { $0.item.identifier == ItemIdentifier("C") }.isEmpty)
        try catalog.catalog.write {
            try $0.confirmContents(
                item.id, as: remote("A", "a.txt", content: "v3", size: 44), contentRevision: item.contentRevision,
                metadataRevision: item.metadataRevision)
        }
        #expect(
            try catalog.pending().filter { $0.item.identifier == ItemIdentifier("C") }.count == (isConfirmed ? 1 : 0))
    }

    @Test func mineIsRefusedWhileBytesAreMissingOrAProgramWrites() throws {
        let copy = try collide()
        let conflict = try only()
        let inode = try catalog.inode(copy)
        try catalog.catalog.write { try $0.beginWriting(inode.id, generation: inode.generation, mark: .modified) }
        #expect(failure { try catalog.catalog.write { try $0.keepCopy(conflict) } } == .beingWritten)
        #expect(failure { try catalog.catalog.write { try $0.removeCopy(conflict) } } == .beingWritten)
        try catalog.catalog.write { try $0.endWriting(inode.id, settle: 0, defaults: catalog.defaults) }
        try catalog.confirm(inode.id, as: "C")
        _ = try catalog.catalog.write { try $0.evict(inode.id) }
        #expect(failure { try catalog.catalog.write { try $0.keepCopy(conflict) } } == .incomplete(inode.id))
        #expect(try catalog.names().count == 2)
        #expect(try conflicts() == [conflict])
        #expect(try findings().isEmpty)
    }

    @Test func mineIsRefusedWhenTheOriginalHasChangesToo() throws {
        _ = try collide()
        try catalog.edit(try catalog.inode("a.txt").id)
        #expect(failure { try catalog.catalog.write { try $0.keepCopy(try $0.conflicts()[0]) } } == .notPermitted)
    }

    @Test func theirsRemovesTheCopy() throws {
        let copy = try collide()
        try catalog.confirm(try catalog.inode(copy).id, as: "C")
        let conflict = try only()
        try catalog.catalog.write { try $0.removeCopy(conflict) }
        #expect(try catalog.names() == ["a.txt"])
        #expect(try catalog.outstanding() == ["delete C"])
        #expect(try conflicts().isEmpty)
        #expect(try findings().isEmpty)
    }

    @Test func bothOnlyForgetsTheConflict() throws {
        let copy = try collide()
        try catalog.catalog.write { try $0.forgetConflict(try $0.conflicts()[0].id) }
        #expect(try conflicts().isEmpty)
        #expect(try catalog.names() == [copy.string, "a.txt"].sorted())
    }

    @Test func aFolderIsNotAnswerable() throws {
        try catalog.create("f", kind: .folder)
        let item = try catalog.item("f")
        _ = try catalog.catalog.write {
            try $0.keepBoth(item.id, current: remote("F", "f"), defaults: catalog.defaults)
        }
        let conflict = try only()
        #expect(failure { try catalog.catalog.write { try $0.keepCopy(conflict) } } == .notPermitted)
        #expect(failure { try catalog.catalog.write { try $0.removeCopy(conflict) } } == .notPermitted)
        #expect(try catalog.names().count == 2)
    }
}
