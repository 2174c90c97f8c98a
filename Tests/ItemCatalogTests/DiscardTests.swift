import FileProvider
import ItemCatalog
import Testing
import Trees

/// Giving up local changes leaves the three trees as if they had never been made.
@Suite struct DiscardTests {
    private let catalog: TestCatalog

    init() throws {
        catalog = try TestCatalog()
        try catalog.list([remote("A", "a", mode: 0o640), remote("F", "f", kind: .folder), remote("B", "b")])
        try catalog.list([remote("C", "c", in: "F"), remote("D", "d", in: "F")], in: folder())
    }

    private func folder() throws -> InodeID { try catalog.inode("f").id }

    private func path(_ text: String) -> [Filename] { text.split(separator: "/").map { Filename(String($0)) } }

    private func plan(_ text: String) throws -> (item: ItemRecord, discards: [Discard]) {
        try catalog.catalog.read { reader in
            let item = try reader.itemOrTombstone(at: path(text)).orThrow("no \(text)")
            return (item, try reader.discards(of: item.id))
        }
    }

    @discardableResult
    private func discard(_ text: String) throws -> [CatalogChange] {
        let (item, discards) = try plan(text)
        let changes = try catalog.catalog.write { writer in
            try writer.discard(item.id, agreed: discards, defaults: catalog.defaults)
            return writer.changes
        }
        // The last reference of what goes is gone: the volume removes the inode.
        for case .removed(let inode) in changes { try catalog.catalog.write { try $0.deleteInode(inode) } }
        try checkClean()
        return changes
    }

    private func checkClean() throws {
        #expect(try catalog.catalog.read { try $0.examine() } == [])
    }

    private func refusal(_ text: String) -> CatalogError.Code? { failure { _ = try plan(text) } }

    @Test func contents() throws {
        let inode = try catalog.inode("a")
        try catalog.edit(inode.id, size: 500)
        let discards = try plan("a").discards
        #expect(discards.count == 1 && discards[0].kinds == [.contents] && discards[0].path == ["a"])
        let changes = try discard("a")
        let now = try catalog.inode("a")
        #expect(now.id == inode.id && now.generation == inode.generation + 1)
        #expect(
            now.size == 10 && now.extents == RangeSet() && now.baseSize == 10
                && now.modified == FileTime(seconds: 1_000))
        #expect(try catalog.outstanding().isEmpty)
        #expect(changes.contains(.contents(inode.id)))
    }

    @Test func aSaveByRenaming() throws {
        let draft = try catalog.create("draft")
        try catalog.rename("draft", "a")
        try discard("a")
        #expect(try catalog.item("a").identifier == ItemIdentifier("A"))
        #expect(try catalog.inode("a").id == draft.id && catalog.inode("a").size == 10)
        #expect(try catalog.outstanding().isEmpty)
    }

    @Test func theNewestThatTheStoreHas() throws {
        try catalog.edit(try catalog.inode("a").id)
        // It stands against our change, so it is not shown; with the change it is.
        try catalog.list([
            remote("A", "renamed", content: "v2", size: 77), remote("F", "f", kind: .folder), remote("B", "b"),
        ])
        #expect(try catalog.names() == ["b", "f", "renamed"])
        try discard("renamed")
        #expect(try catalog.inode("renamed").size == 77)
        #expect(try catalog.item("renamed").baseVersion == version("v2"))
        #expect(try catalog.outstanding().isEmpty)
    }

    @Test func metadata() throws {
        let inode = try catalog.inode("a")
        _ = try catalog.catalog.write {
            try $0.setAttributes(inode.id, to: AttributeChange(mode: 0o777, modified: FileTime(seconds: 5)), settle: 0)
        }
        #expect(try plan("a").discards[0].kinds == [.metadata])
        try discard("a")
        #expect(try catalog.inode("a").mode == 0o640 && catalog.inode("a").modified == FileTime(seconds: 1_000))
        #expect(try catalog.inode("a").generation == inode.generation)
        #expect(try catalog.outstanding().isEmpty)
    }

    @Test(arguments: ["a2", "f/a"]) func aMove(target: String) throws {
        let (name, to) = (path(target).last!, target == "a2" ? InodeID.root : try folder())
        try catalog.rename("a", name, to: to)
        #expect(try plan(target).discards[0].kinds == [.move])
        try discard(target)
        #expect(try catalog.names() == ["a", "b", "f"])
        #expect(try catalog.names(try folder()) == ["c", "d"])
        #expect(try catalog.outstanding().isEmpty)
    }

    @Test func aFolderThatWasMovedAndAChangeInIt() throws {
        try catalog.create("g", kind: .folder)
        try catalog.rename("f", "h", to: try catalog.inode("g").id)
        try catalog.edit(try catalog.catalog.read { try $0.resolve(path("g/h/c")) }.id)
        try discard("g/h")
        #expect(try catalog.outstanding() == ["change C", "create g"])
        try discard("f/c")
        try discard("g")
        #expect(try catalog.outstanding().isEmpty)
    }

    @Test func aMoveWhosePlaceIsTaken() throws {
        try catalog.rename("a", "a2")
        try catalog.create("a")
        #expect(refusal("a2") == .notPermitted)
        try discard("a")
        try discard("a2")
        #expect(try catalog.names() == ["a", "b", "f"])
        #expect(try catalog.outstanding().isEmpty)
    }

    @Test func aMoveOutOfAFolderThatIsGone() throws {
        try catalog.rename("c", "c", from: try folder())
        try catalog.unlink("d", in: try folder())
        _ = try catalog.catalog.write { try $0.removeFolder("f", in: .root, settle: 0) }
        #expect(refusal("c") == .notPermitted)
        try discard("f")
        try discard("c")
        #expect(try catalog.names() == ["a", "b", "f"])
        #expect(try catalog.outstanding().isEmpty)
    }

    @Test func aMoveWithAHardLinkAtItsOldPlace() throws {
        let inode = try catalog.document("doc", "X")
        try catalog.link(inode.id, "doc2")
        // The primary name goes, the other is moved to in the store's eyes.
        try catalog.unlink("doc")
        try catalog.link(inode.id, "doc")
        try discard("doc2")
        #expect(try catalog.item("doc").identifier == ItemIdentifier("X"))
        #expect(try catalog.inode("doc").linkCount == 1)
        #expect(try catalog.outstanding().isEmpty)
    }

    @Test func aCreation() throws {
        let inode = try catalog.create("new")
        let discards = try plan("new").discards
        #expect(discards.map(\.kinds) == [[.creation]])
        let changes = try discard("new")
        #expect(try catalog.names() == ["a", "b", "f"])
        #expect(changes.contains(.removed(inode.id)) && changes.contains(.entry(folder: .root, name: "new")))
        #expect(try catalog.outstanding().isEmpty)
    }

    @Test func aCreationWithSeveralNames() throws {
        try catalog.link(try catalog.create("new").id, "new2", in: try folder())
        try discard("new")
        #expect(try catalog.names() == ["a", "b", "f"])
        #expect(try catalog.names(try folder()) == ["c", "d"])
    }

    /// `cp -al project bak`: what is outside goes by the same inodes.
    @Test func aFolderWhoseDocumentsHaveNamesOutside() throws {
        let outer = try catalog.create("outer", kind: .folder)
        let document = try catalog.create("document", in: outer.id)
        try catalog.link(document.id, "second", in: outer.id)
        #expect(try plan("outer").discards.count == 3)
        try catalog.link(document.id, "outside")
        #expect(refusal("outer") == .notPermitted)
        #expect(try catalog.names().contains("outside"))
    }

    @Test func aFolderThatTheStoreNeverHad() throws {
        let outer = try catalog.create("outer", kind: .folder)
        let inner = try catalog.create("inner", in: outer.id, kind: .folder)
        try catalog.edit(try catalog.create("document", in: inner.id).id, size: 30)
        try catalog.create("backup~", in: inner.id)
        try catalog.pipe("pipe", in: outer.id)
        let discards = try plan("outer").discards
        #expect(
            Set(discards.map { $0.path.map(\.string).joined(separator: "/") }) == [
                "outer", "outer/inner", "outer/inner/document", "outer/inner/backup~", "outer/pipe",
            ])
        #expect(discards.reduce(0) { $0 + $1.bytes } == 30)
        try discard("outer")
        #expect(try catalog.names() == ["a", "b", "f"])
        #expect(try catalog.outstanding().isEmpty)
    }

    @Test func aFolderWithSomethingOfTheStoresInIt() throws {
        let outer = try catalog.create("outer", kind: .folder)
        try catalog.rename("b", "b", to: outer.id)
        #expect(refusal("outer") == .notPermitted)
        try discard("outer/b")
        try discard("outer")
        #expect(try catalog.names() == ["a", "b", "f"])
    }

    @Test func aDeletion() throws {
        try catalog.unlink("a")
        #expect(try plan("a").discards.map(\.kinds) == [[.deletion]])
        try discard("a")
        #expect(try catalog.inode("a").size == 10 && catalog.item("a").identifier == ItemIdentifier("A"))
        #expect(try catalog.outstanding().isEmpty)
    }

    @Test func aDeletionWhoseNameIsTaken() throws {
        try catalog.rename("b", "a")
        // What a path means is what is there; the one that was deleted comes after it.
        #expect(try plan("a").discards.map(\.kinds) == [[.move]])
        try discard("a")
        try discard("a")
        #expect(try catalog.names() == ["a", "b", "f"])
        #expect(try catalog.outstanding().isEmpty)
    }

    @Test func aDeletedFolderWithAllThatWasInIt() throws {
        for name in ["c", "d"] as [Filename] { try catalog.unlink(name, in: try folder()) }
        _ = try catalog.catalog.write { try $0.removeFolder("f", in: .root, settle: 0) }
        try discard("f")
        #expect(try catalog.names() == ["a", "b", "f"])
        #expect(try catalog.names(try folder()) == ["c", "d"])
        #expect(try catalog.outstanding().isEmpty)
    }

    @Test func oneDocumentOfADeletedFolder() throws {
        for name in ["c", "d"] as [Filename] { try catalog.unlink(name, in: try folder()) }
        _ = try catalog.catalog.write { try $0.removeFolder("f", in: .root, settle: 0) }
        try discard("f/d")
        #expect(try catalog.names(try folder()) == ["d"])
        #expect(try catalog.outstanding() == ["delete C"])
    }

    @Test func thereIsNothingToGiveUp() throws {
        #expect(refusal("a") == .notPermitted)
        #expect(refusal("f") == .notPermitted)
        try catalog.create("backup~")
        #expect(refusal("backup~") == .notPermitted)
        #expect(failure { _ = try catalog.catalog.read { try $0.discards(of: .root) } } == .notPermitted)
        #expect(try catalog.catalog.read { try $0.itemOrTombstone(at: ["nothing"]) } == nil)
    }

    @Test func whatAProgramWritesStays() throws {
        let inode = try catalog.inode("a")
        try catalog.edit(inode.id)
        try catalog.catalog.write { try $0.beginWriting(inode.id, generation: inode.generation, mark: .modified) }
        #expect(refusal("a") == .beingWritten)
        let new = try catalog.create("new")
        try catalog.catalog.write { try $0.beginWriting(new.id, generation: 1, mark: .modified) }
        #expect(refusal("new") == .beingWritten)
    }

    @Test func onlyWhatWasAgreedGoes() throws {
        let inode = try catalog.inode("a")
        try catalog.edit(inode.id)
        let (item, discards) = try plan("a")
        try catalog.edit(inode.id, size: 123)
        #expect(
            failure {
                try catalog.catalog.write { try $0.discard(item.id, agreed: discards, defaults: catalog.defaults) }
            } == .replaced)
        #expect(try catalog.inode("a").size == 123)
    }

    @Test func whatCameAndWentIsNotPendingForPeople() throws {
        try catalog.create("temporary")
        try catalog.unlink("temporary")
        #expect(try catalog.pendingNames() == ["?"])
        #expect(try catalog.catalog.read { try $0.pendingForPeople(limit: 10) }.isEmpty)
        try catalog.unlink("a")
        #expect(
            try catalog.catalog.read { try $0.pendingForPeople(limit: 10) }.map(\.identifier) == [ItemIdentifier("A")])
    }

    @Test func whatIsPendingInAFolder() throws {
        try catalog.edit(try catalog.inode("a").id)
        try catalog.edit(try catalog.inode("c", in: try folder()).id)
        try catalog.unlink("d", in: try folder())
        let within = try catalog.catalog.read { reader in
            try reader.pending(within: try reader.item(identifiedBy: ItemIdentifier("F"))!.id).map {
                try reader.item($0)?.identifier
            }
        }
        #expect(Set(within) == [ItemIdentifier("C"), ItemIdentifier("D")])
    }
}
