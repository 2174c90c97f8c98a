import FileProvider
import ItemCatalog
import Testing
import Trees

/// Hard links: the store has one name, this machine all of them.
@Suite struct LinkTests {
    private let catalog: TestCatalog

    init() throws { catalog = try TestCatalog.unsettled() }

    @Test func aSecondNameIsNobodyElsesBusiness() throws {
        let inode = try catalog.document("a", "A")
        let linked = try catalog.link(inode.id, "b")
        #expect(linked.id == inode.id && linked.linkCount == 2)
        #expect(try catalog.inode("a").id == catalog.inode("b").id)
        #expect(try catalog.places(inode.id) == ["a", "b"])
        #expect(try catalog.catalog.read { try $0.place(of: inode.id) }?.name == "a")
        #expect(try catalog.outstanding() == [])
        let unlinked = try catalog.unlink("b")
        #expect(unlinked.linkCount == 1)
        #expect(try catalog.names() == ["a"])
        #expect(try catalog.outstanding() == [])
    }

    @Test func theErrorsOfLink() throws {
        let inode = try catalog.document("a", "A")
        let folder = try catalog.folder("f", "F")
        #expect(failure { try catalog.link(inode.id, "f") } == .exists)
        #expect(failure { try catalog.link(folder.id, "g") } == .notPermitted)
        #expect(failure { try catalog.link(inode.id, "x", in: inode.id) } == .notFolder)
        _ = try catalog.catalog.write { try $0.removeFolder("f", in: .root, settle: 60) }
        #expect(failure { try catalog.link(inode.id, "x", in: folder.id) } == .notFound)
        try catalog.unlink("a")
        #expect(failure { try catalog.link(inode.id, "b") } == .notFound)
        #expect(try catalog.names() == [])
    }

    @Test func changesUnderEitherNameAreTheItems() throws {
        let inode = try catalog.document("a", "A")
        try catalog.link(inode.id, "b")
        try catalog.edit(try catalog.inode("b").id)
        #expect(try catalog.outstanding() == ["change A"])
    }

    // MARK: Promotion

    @Test func theNextNameTakesThePlaceOfTheFirst() throws {
        let inode = try catalog.document("a", "A")
        let folder = try catalog.folder("f", "F")
        try catalog.link(inode.id, "b", in: folder.id)
        try catalog.link(inode.id, "c")
        #expect(try catalog.unlink("a").linkCount == 2)
        #expect(try catalog.outstanding() == ["move A b"])
        #expect(try catalog.item(of: inode.id)?.local?.parent == catalog.item("f").id)
        #expect(try catalog.unlink("b", in: folder.id).linkCount == 1)
        #expect(try catalog.outstanding() == ["move A c"])
        #expect(try catalog.unlink("c").linkCount == 0)
        #expect(try catalog.outstanding() == ["delete A"])
    }

    @Test func whatTheStoreHasStaysItsBusinessUnderAnExcludedName() throws {
        let inode = try catalog.document("a", "A")
        try catalog.link(inode.id, "a~")
        try catalog.unlink("a")
        #expect(try catalog.outstanding() == ["move A a~"])
        #expect(try catalog.item("a~").isExcluded == false)
    }

    @Test func whatItNeverHadIsJudgedByTheNewName() throws {
        let inode = try catalog.create("a")
        try catalog.link(inode.id, "a~")
        try catalog.unlink("a")
        #expect(try catalog.item("a~").isExcluded)
        #expect(try catalog.outstanding() == [])
        try catalog.link(inode.id, "b")
        try catalog.unlink("a~")
        #expect(try catalog.item("b").isExcluded == false)
        #expect(try catalog.outstanding() == ["create b"])
    }

    @Test func aPromotionTakesAnExcludedFolderAlong() throws {
        let folder = try catalog.create("f~", kind: .folder)
        let (known, new) = (try catalog.document("a", "A"), try catalog.create("n"))
        try catalog.link(new.id, "n", in: folder.id)
        try catalog.unlink("n")
        #expect(try catalog.outstanding() == [])
        try catalog.link(known.id, "x", in: folder.id)
        try catalog.unlink("a")
        #expect(try catalog.outstanding() == ["create f~", "move A x"])
    }

    // MARK: Renames

    @Test func renamingASecondNameMovesNothing() throws {
        let inode = try catalog.document("a", "A")
        let folder = try catalog.folder("f", "F")
        try catalog.link(inode.id, "b")
        try catalog.rename("b", "c", to: folder.id)
        #expect(try catalog.outstanding() == [])
        #expect(try catalog.names() == ["a", "f"] && catalog.names(folder.id) == ["c"])
        try catalog.rename("a", "d")
        #expect(try catalog.outstanding() == ["move A d"])
        #expect(try catalog.names(folder.id) == ["c"])
        #expect(try catalog.inode(inode.id).linkCount == 2)
    }

    /// rename(2): two names of one file, and nothing happens.
    @Test func renamingOneNameOverTheOtherDoesNothing() throws {
        let inode = try catalog.document("a", "A")
        try catalog.link(inode.id, "b")
        for (from, to) in [("a", "b"), ("b", "a")] as [(Filename, Filename)] {
            #expect(try catalog.rename(from, to).replaced == nil)
        }
        #expect(try catalog.names() == ["a", "b"])
        #expect(try catalog.outstanding() == [])
    }

    @Test func aSecondNameOverADocumentReplacesIt() throws {
        let inode = try catalog.document("a", "A")
        try catalog.link(inode.id, "a2")
        let other = try catalog.document("b", "B")
        let result = try catalog.rename("a2", "b")
        #expect(result.replaced?.id == other.id)
        #expect(try catalog.outstanding() == ["delete B"])
        #expect(try catalog.places(inode.id).sorted() == ["a", "b"])
    }

    @Test func aDocumentOverASecondNameLeavesTheFirst() throws {
        let inode = try catalog.document("a", "A")
        try catalog.link(inode.id, "a2")
        let fresh = try catalog.create("new")
        let result = try catalog.rename("new", "a2")
        #expect(result.replaced?.id == inode.id && result.replaced?.linkCount == 1)
        #expect(try catalog.item("a2").inode == fresh.id)
        #expect(try catalog.places(inode.id) == ["a"])
        #expect(try catalog.outstanding() == ["create a2"])
    }

    @Test func aConfirmedDocumentOverAFirstNamePromotesTheSecond() throws {
        let inode = try catalog.document("a", "A")
        try catalog.link(inode.id, "a2")
        try catalog.document("b", "B")
        try catalog.rename("b", "a")
        #expect(try catalog.outstanding() == ["move A a2", "move B a"])
        #expect(try catalog.inode(inode.id).linkCount == 1)
    }

    // MARK: The store's changes

    private func goneAtTheStore(_ identifier: String) throws -> [CatalogChange] {
        try catalog.catalog.write { writer in
            try writer.mergeDeletion(of: ItemIdentifier(identifier), defaults: catalog.defaults)
            return writer.changes
        }
    }

    @Test func aWholeDocumentSurvivesUnderItsOtherName() throws {
        let inode = try catalog.document("a", "A")
        try catalog.link(inode.id, "b")
        let changes = try goneAtTheStore("A")
        #expect(try catalog.names() == ["b"])
        #expect(try catalog.inode("b").id == inode.id && catalog.inode("b").linkCount == 1)
        #expect(changes.contains(.entry(folder: .root, name: "a")))
        #expect(!changes.contains(.entry(folder: .root, name: "b")) && !changes.contains(.removed(inode.id)))
        #expect(try catalog.outstanding() == ["create b"])
    }

    @Test func aPlaceholderGoesWithAllItsNames() throws {
        try catalog.list([remote("A", "a", size: 10)])
        let inode = try catalog.inode("a").id
        try catalog.link(inode, "b")
        let changes = try goneAtTheStore("A")
        #expect(try catalog.names() == [])
        for name in ["a", "b"] as [Filename] { #expect(changes.contains(.entry(folder: .root, name: name))) }
        #expect(changes.contains(.removed(inode)))
        #expect(try catalog.outstanding() == [])
        #expect(try catalog.catalog.read { try $0.orphans() } == [inode])
    }

    @Test func aNewVersionIsSeenUnderEachName() throws {
        try catalog.list([remote("A", "a", size: 10)])
        let inode = try catalog.inode("a").id
        try catalog.link(inode, "b")
        let changes = try catalog.changes(listing: [remote("A", "a", content: "v2", size: 20)])
        #expect(try catalog.inode("b").generation == 2 && catalog.inode("b").size == 20)
        for name in ["a", "b"] as [Filename] { #expect(changes.contains(.entry(folder: .root, name: name))) }
    }

    /// A name of this machine only makes way for the store's item.
    @Test func aSecondNameMakesWay() throws {
        try catalog.list([remote("A", "a", size: 10)])
        let inode = try catalog.inode("a").id
        try catalog.link(inode, "b")
        let changes = try catalog.changes(listing: [remote("A", "a", size: 10), remote("B", "b", size: 5)])
        #expect(try catalog.identifier("b") == "B")
        #expect(try catalog.places(inode).contains { $0.contains("conflicted copy") })
        #expect(try catalog.inode(inode).linkCount == 2)
        #expect(changes.contains(.entry(folder: .root, name: "b")))
        #expect(try catalog.outstanding() == [])
        #expect(try catalog.names().count == 3)
    }

    @Test func aPipeMakesWay() throws {
        let pipe = try catalog.pipe("b")
        try catalog.list([remote("B", "b", size: 5)])
        #expect(try catalog.identifier("b") == "B")
        #expect(try catalog.places(pipe.id).first?.contains("conflicted copy") == true)
        #expect(try catalog.outstanding() == [])
    }

    @Test func aSecondNameMakesWayForAMovedItem() throws {
        try catalog.list([remote("A", "a", size: 10), remote("B", "b", size: 10)])
        let inode = try catalog.inode("a").id
        try catalog.link(inode, "c")
        try catalog.list([remote("A", "a", size: 10), remote("B", "c", size: 10)])
        #expect(try catalog.identifier("c") == "B")
        #expect(try catalog.places(inode).count == 2)
        #expect(try catalog.outstanding() == [])
    }

    @Test func aFurtherNameMakesWayForWhatWaitedForTheName() throws {
        let mine = try catalog.create("c")
        try catalog.list([remote("theirs", "c")])
        // It waits: what has its name here may be one with it.
        try catalog.rename("c", "b")
        try catalog.link(mine.id, "c")
        try catalog.confirm(mine.id, as: "mine")
        // (As after any answer of the store's.)
        try catalog.catalog.write { try $0.reconcile([], defaults: catalog.defaults) }
        #expect(try catalog.item("c").identifier?.rawValue == "theirs")
        #expect(try catalog.item("b").identifier?.rawValue == "mine")
        #expect(try catalog.names().count == 3 && catalog.inode(mine.id).linkCount == 2)
    }
}
