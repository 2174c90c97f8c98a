import FileProvider
import ItemCatalog
import Testing
import Trees

@Suite struct RenameTests {
    private let catalog: TestCatalog

    init() throws {
        catalog = try TestCatalog()
        try catalog.list([])
    }

    @Test func renameMovesTheItemsLocalPlaceOnly() throws {
        let folder = try catalog.create("f", kind: .folder)
        try catalog.confirm(folder.id, as: "F")
        let inode = try catalog.create("a")
        try catalog.confirm(inode.id, as: "A")
        #expect(try catalog.pending().isEmpty)
        let result = try catalog.rename("a", "b", to: folder.id)
        #expect(result.replaced == nil && result.moved.id == inode.id)
        #expect(try catalog.names() == ["f"])
        let item = try catalog.item("b", in: folder.id)
        let parent = try catalog.item("f")
        #expect(item.local == TreePlace(parent: parent.id, name: "b"))
        #expect(item.base == TreePlace(parent: .root, name: "a"))
        #expect(item.remote == item.base)
        #expect(item.contentRevision == 0)
        #expect(try catalog.pending().map(\.item.id) == [item.id])
        // And back: nothing is pending.
        try catalog.rename("b", "a", from: folder.id)
        #expect(try catalog.pending().isEmpty)
    }

    @Test func theErrorsOfRename() throws {
        let folder = try catalog.create("f", kind: .folder)
        let inner = try catalog.create("g", in: folder.id, kind: .folder)
        let full = try catalog.create("full", kind: .folder)
        try catalog.create("x", in: full.id)
        try catalog.create("a")
        try catalog.create("b")
        #expect(failure { try catalog.rename("none", "c") } == .notFound)
        #expect(failure { try catalog.rename("a", "b", noReplace: true) } == .exists)
        #expect(failure { try catalog.rename("a", "f") } == .isFolder)
        #expect(failure { try catalog.rename("f", "a") } == .notFolder)
        #expect(failure { try catalog.rename("f", "full") } == .notEmpty)
        #expect(failure { try catalog.rename("f", "h", to: inner.id) } == .intoItself)
        #expect(failure { try catalog.rename("f", "h", to: folder.id) } == .intoItself)
        #expect(try catalog.names() == ["a", "b", "f", "full"])
        #expect(try catalog.names(folder.id) == ["g"])
    }

    @Test func aRenameOntoItselfDoesNothing() throws {
        let inode = try catalog.create("a")
        try catalog.confirm(inode.id, as: "A")
        let result = try catalog.rename("a", "a")
        #expect(result.replaced == nil)
        #expect(try catalog.names() == ["a"])
        #expect(try catalog.pending().isEmpty)
    }

    /// How programs save: write beside, rename over.
    @Test func aSaveKeepsTheDocumentsIdentity() throws {
        let original = try catalog.create("doc")
        try catalog.confirm(original.id, as: "DOC")
        let temporary = try catalog.create("doc.tmp")
        let temporaryItem = try catalog.item("doc.tmp").id
        try catalog.edit(temporary.id)

        let result = try catalog.rename("doc.tmp", "doc")
        #expect(result.replaced?.id == original.id)
        #expect(result.replaced?.linkCount == 0)
        #expect(try catalog.names() == ["doc"])
        #expect(try catalog.inode("doc").id == temporary.id)

        let document = try catalog.item("doc")
        #expect(document.identifier == ItemIdentifier("DOC"))
        #expect(document.inode == temporary.id)
        #expect(document.contentRevision > 0)
        #expect(document.local == document.base)
        #expect(document.baseVersion == version("v1"))
        // Nothing will be deleted at the provider: the only other row was never there.
        let pending = try catalog.pending()
        #expect(Set(pending.map(\.item.id)) == [document.id, temporaryItem])
        let buried = try pending.first { $0.item.id == temporaryItem }.orThrow("no row of the temporary file")
        #expect(buried.item.identifier == nil && buried.item.local == nil && buried.item.inode == nil)
        try catalog.catalog.write { try $0.confirmDeletion(temporaryItem, defaults: catalog.defaults) }
        #expect(try catalog.pending().map(\.item.id) == [document.id])
    }

    @Test func aSaveOverAnEditedDocumentIsOneNewRevision() throws {
        let original = try catalog.create("doc")
        try catalog.confirm(original.id, as: "DOC")
        try catalog.edit(original.id)
        let before = try catalog.item("doc").contentRevision
        try catalog.create("tmp")
        try catalog.rename("tmp", "doc")
        #expect(try catalog.item("doc").contentRevision > before)
    }

    /// The temporary file's upload was under way when it was renamed: what the provider made of it goes.
    @Test func aTemporaryFileThatReachedTheProviderIsDeletedThere() throws {
        let original = try catalog.create("doc")
        try catalog.confirm(original.id, as: "DOC")
        try catalog.create("tmp")
        let sent = try catalog.item("tmp")
        try catalog.rename("tmp", "doc")
        _ = try catalog.catalog.write {
            try $0.confirmCreation(
                sent.id, as: remote("TMP", "tmp"), contentRevision: sent.contentRevision, metadataRevision: 0)
        }
        let row = try catalog.item(identified: "TMP").orThrow("no tombstone")
        #expect(row.local == nil && row.base != nil)
        #expect(try catalog.pendingNames() == ["doc", "tmp"])
        #expect(try catalog.item("doc").identifier == ItemIdentifier("DOC"))
    }

    @Test func aMoveBetweenConfirmedItemsBuriesTheTarget() throws {
        let source = try catalog.create("a")
        try catalog.confirm(source.id, as: "A")
        let target = try catalog.create("b")
        try catalog.confirm(target.id, as: "B", content: "b1")
        let result = try catalog.rename("a", "b")
        #expect(result.replaced?.id == target.id)
        let moved = try catalog.item("b")
        #expect(moved.identifier == ItemIdentifier("A"))
        #expect(moved.contentRevision == 0)
        let buried = try catalog.item(identified: "B").orThrow("the target left no tombstone")
        #expect(buried.local == nil && buried.inode == nil)
        #expect(buried.base == TreePlace(parent: .root, name: "b"))
        #expect(buried.baseVersion == version("b1"))
        #expect(try Set(catalog.pending().map(\.item.id)) == [moved.id, buried.id])
        // The mover knows who has its name.
        #expect(try catalog.pending().first { $0.item.id == moved.id }?.occupant?.id == buried.id)
    }

    @Test func aLinkOverADocumentIsNoSave() throws {
        let document = try catalog.create("doc")
        try catalog.confirm(document.id, as: "DOC")
        try catalog.create("ln", kind: .symbolicLink(target: Array("x".utf8)))
        try catalog.rename("ln", "doc")
        #expect(try catalog.item("doc").identifier == nil)
        #expect(try catalog.item(identified: "DOC")?.local == nil)
    }

    @Test func aFolderOverAnEmptyFolderReplacesIt() throws {
        let target = try catalog.create("old", kind: .folder)
        try catalog.confirm(target.id, as: "OLD")
        let source = try catalog.create("new", kind: .folder)
        try catalog.confirm(source.id, as: "NEW")
        try catalog.create("x", in: source.id)
        try catalog.rename("new", "old")
        #expect(try catalog.names() == ["old"])
        #expect(try catalog.item("old").identifier == ItemIdentifier("NEW"))
        #expect(try catalog.names(source.id) == ["x"])
        #expect(try catalog.item(identified: "OLD")?.local == nil)
    }

    /// vim: the original is renamed away, the name is made again, the backup is deleted.
    @Test func aBackupAndANewFileKeepBothContents() throws {
        let original = try catalog.create("doc")
        try catalog.confirm(original.id, as: "DOC")
        try catalog.rename("doc", "doc~")
        let fresh = try catalog.create("doc")
        #expect(try catalog.inode("doc").id == fresh.id)
        #expect(try catalog.item("doc~").identifier == ItemIdentifier("DOC"))
        try catalog.unlink("doc~")
        #expect(try catalog.names() == ["doc"])
    }

    @Test func theReplacedNameKeepsItsPlaceInTheListing() throws {
        try catalog.create("a")
        try catalog.create("b")
        try catalog.create("tmp")
        func cookies() throws -> [Filename: Int64] {
            let entries = try catalog.catalog.read { try $0.children(of: .root, after: 0, limit: 9) }
            return Dictionary(uniqueKeysWithValues: entries.map { ($0.name, $0.cookie) })
        }
        let before = try cookies()
        try catalog.rename("tmp", "a")
        #expect(try cookies() == before.filter { $0.key != "tmp" })
    }
}
