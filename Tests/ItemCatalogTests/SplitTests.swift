import FileProvider
import ItemCatalog
import Testing
import Trees

/// A document gets a new version from the store while a program has the old one open for writing.
@Suite struct SplitTests {
    private let catalog: TestCatalog
    private let document: InodeID

    init() throws {
        catalog = try TestCatalog()
        try catalog.list([remote("DOC", "doc.txt", size: 10)])
        document = try catalog.inode("doc.txt").id
        try catalog.catalog.write {
            try $0.recordExtents(document, generation: 1, extents: nil)
            try $0.setExtendedAttribute(
                Array("user.colour".utf8), to: [7], of: document, presence: .any, settle: 0)
            try $0.setExtendedAttribute(
                Array("security.label".utf8), to: [8], of: document, presence: .any, settle: 0)
        }
        // Sent by now.
        let item = try catalog.item("doc.txt")
        try catalog.catalog.write { try $0.keepMetadataLocal(item.id, metadataRevision: item.metadataRevision) }
    }

    struct Linked: Equatable {
        var from: InodeID
        var generation: Int64
        var to: InodeID
    }

    private func begin(_ mark: WritingMark = .maybeModified(.none)) throws {
        try catalog.catalog.write { try $0.beginWriting(document, generation: 1, mark: mark) }
    }

    /// The store has another version now. What the kernel is told, and which bytes got a second name.
    private func newVersion(_ content: String = "v2", linking: Bool = true) throws -> ([CatalogChange], [Linked]) {
        var linked: [Linked] = []
        let changes = try catalog.catalog.write { writer in
            if linking { writer.transaction.linkContents = { linked.append(Linked(from: $0, generation: $1, to: $2)) } }
            _ = try writer.mergeListing(
                of: .root, [remote("DOC", "doc.txt", content: content, size: 20)], defaults: catalog.defaults)
            return writer.changes
        }
        return (changes, linked)
    }

    private func splitOff(_ changes: [CatalogChange]) throws -> InodeID {
        for case .split(document, let new) in changes { return new }
        throw Missing(description: "no split in \(changes)")
    }

    /// The name of the copy; nil when there is none.
    private func copyName() throws -> String? { try catalog.names().first { $0.contains("conflicted copy") } }

    @Test func theWriterKeepsTheOldBytesWithoutAName() throws {
        try begin()
        let (changes, linked) = try newVersion()
        let old = try splitOff(changes)
        #expect(linked == [Linked(from: document, generation: 1, to: old)])
        #expect(changes.contains(.contents(document)) && changes.contains(.entry(folder: .root, name: "doc.txt")))
        #expect(!changes.contains(.conflict(old)))

        let kept = try catalog.inode(old)
        let item = try catalog.item("doc.txt")
        #expect(kept.linkCount == 0 && kept.generation == 1 && kept.size == 10 && kept.extents == nil)
        #expect(kept.writing == .maybeModified(.none) && kept.splitFrom == item.id)
        #expect(try catalog.item(of: old) == nil)
        let attributes = try catalog.catalog.read { try $0.extendedAttributeNames(of: old) }
        #expect(attributes == [Array("security.label".utf8), Array("user.colour".utf8)])

        let current = try catalog.inode("doc.txt")
        #expect(current.id == document && current.generation == 2 && current.size == 20)
        #expect(current.writing == nil && current.extents == RangeSet())
        #expect(item.baseVersion == version("v2") && item.contentRevision == 0)
        #expect(try catalog.names() == ["doc.txt"])
        #expect(try catalog.outstanding() == [])
    }

    enum Change: CaseIterable { case recordWritten, truncate, beginWriting }

    /// Only when he changes something is there anything to keep.
    @Test(arguments: Change.allCases)
    func hisFirstChangeMakesItACopy(change: Change) throws {
        try begin()
        let old = try splitOff(newVersion().0)
        let changes = try catalog.catalog.write { writer in
            switch change {
            case .recordWritten:
                _ = try writer.recordWritten(
                    old, generation: 1, size: 12, modified: .now, mark: .modified, settle: nil)
            case .truncate:
                _ = try writer.truncate(
                    old, generation: 1, to: 12, baseSize: 10, extents: nil, mark: .modified, settle: 0)
            case .beginWriting: try writer.beginWriting(old, generation: 1, mark: .modified)
            }
            return writer.changes
        }
        let name = try copyName().orThrow("no copy")
        #expect(name.hasPrefix("doc (conflicted copy") && name.hasSuffix(".txt"))
        #expect(try catalog.names().count == 2)
        #expect(changes.contains(.conflict(old)) && changes.contains(.entry(folder: .root, name: Filename(name))))
        let copy = try catalog.inode(Filename(name))
        #expect(copy.id == old && copy.linkCount == 1 && copy.splitFrom == nil && copy.writing == .modified)
        #expect(copy.size == (change == .beginWriting ? 10 : 12))
        // He is still at it.
        #expect(try catalog.pending().isEmpty)
        #expect(try catalog.outstanding() == ["create \(name)"])
        try catalog.catalog.write { try $0.endWriting(old, settle: 0, defaults: catalog.defaults) }
        #expect(try catalog.pending().map(\.item.local?.name) == [Filename(name)])
        // Once: what he changes after that has its name.
        try catalog.edit(old, size: 13)
        #expect(try catalog.names().count == 2)
        #expect(try catalog.identifier("doc.txt") == "DOC")
    }

    /// A mark alone is no change.
    @Test func anotherMarkIsNoChange() throws {
        try begin()
        let old = try splitOff(newVersion().0)
        let stamp = BackingStamp(size: 10, modified: .now, changed: .now)
        try catalog.catalog.write { try $0.beginWriting(old, generation: 1, mark: .maybeModified(stamp)) }
        #expect(try catalog.names() == ["doc.txt"])
    }

    @Test func aWriterWhoChangedNothingLeavesNothing() throws {
        try begin()
        let old = try splitOff(newVersion().0)
        try catalog.catalog.write { try $0.endWriting(old, settle: 0, defaults: catalog.defaults) }
        #expect(try catalog.inode(old).writing == nil)
        #expect(try catalog.names() == ["doc.txt"])
        #expect(try catalog.outstanding() == [])
        #expect(try catalog.catalog.read { try $0.orphans() } == [old])
        try catalog.catalog.write { try $0.deleteInode(old) }
        #expect(try catalog.catalog.read { try $0.extendedAttributeNames(of: old) } == [])
    }

    /// What he has written already is kept at once.
    @Test func aChangeBeforeIsACopyAtOnce() throws {
        try begin(.modified)
        try catalog.catalog.write {
            _ = try $0.recordWritten(document, size: 15, modified: .now, mark: .modified, settle: nil)
        }
        let (changes, _) = try newVersion()
        let old = try splitOff(changes)
        #expect(changes.contains(.conflict(old)))
        let name = try copyName().orThrow("no copy")
        #expect(try catalog.inode(Filename(name)).id == old && catalog.inode(Filename(name)).size == 15)
        #expect(try catalog.inode("doc.txt").size == 20 && catalog.item("doc.txt").contentRevision == 0)
        #expect(try catalog.outstanding() == ["create \(name)"])
    }

    /// The old version's writer learns it from the catalog.
    @Test func whoComesLateIsTold() throws {
        try begin()
        _ = try newVersion()
        #expect(
            failure {
                try catalog.catalog.write { try $0.beginWriting(document, generation: 1, mark: .modified) }
            } == .replaced)
        #expect(
            failure {
                _ = try catalog.catalog.write {
                    try $0.recordWritten(document, generation: 1, size: 1, modified: .now, mark: nil, settle: 0)
                }
            } == .replaced)
        #expect(
            failure {
                _ = try catalog.catalog.write {
                    try $0.truncate(
                        document, generation: 1, to: 0, baseSize: 0, extents: nil, mark: .modified, settle: 0)
                }
            } == .replaced)
        #expect(try catalog.outstanding() == [])
    }

    /// The other version may be our own upload, whose reply got lost: that is found out first.
    @Test func whatWasSentIsNotSplit() throws {
        try begin(.modified)
        let item = try catalog.item("doc.txt")
        try catalog.catalog.write { try $0.recordSending(item.id, SentContent(hash: [1], size: 20)) }
        let (changes, linked) = try newVersion()
        #expect(linked == [] && !changes.contains(.contents(document)))
        #expect(try catalog.inode("doc.txt").generation == 1)
        #expect(try catalog.item("doc.txt").baseVersion?.content == ContentVersion("v1"))
        #expect(try catalog.item("doc.txt").remoteVersion?.content == ContentVersion("v2"))
        #expect(try catalog.outstanding() == ["change DOC"])
    }

    @Test func whereNobodyKeepsTheBytesTheNewVersionWaits() throws {
        try begin()
        let (changes, _) = try newVersion(linking: false)
        #expect(!changes.contains(.contents(document)))
        #expect(try catalog.inode("doc.txt").generation == 1)
        try catalog.catalog.write { try $0.endWriting(document, settle: 0, defaults: catalog.defaults) }
        let current = try catalog.inode("doc.txt")
        #expect(current.generation == 2 && current.size == 20)
        #expect(try catalog.names() == ["doc.txt"])
        #expect(try catalog.outstanding() == [])
    }

    /// The bytes cannot get a second name (no space left): nothing has happened.
    @Test func aFailureUndoesAllOfIt() throws {
        try begin()
        #expect(
            failure {
                try catalog.catalog.write { writer in
                    writer.transaction.linkContents = { _, _, _ in throw CatalogError(.diskFull, "full") }
                    _ = try writer.mergeListing(
                        of: .root, [remote("DOC", "doc.txt", content: "v2", size: 20)], defaults: catalog.defaults)
                }
            } == .diskFull)
        #expect(try catalog.inode("doc.txt").generation == 1)
        #expect(try catalog.inode("doc.txt").writing == .maybeModified(.none))
        #expect(try catalog.catalog.read { try $0.orphans() } == [])
    }

    @Test func twoVersionsMakeTwoOfThem() throws {
        try begin()
        let first = try splitOff(newVersion().0)
        try catalog.catalog.write { try $0.beginWriting(document, generation: 2, mark: .maybeModified(.none)) }
        let (changes, linked) = try newVersion("v3")
        let second = try splitOff(changes)
        #expect(linked == [Linked(from: document, generation: 2, to: second)])
        for inode in [first, second] { try catalog.edit(inode) }
        let copies = try catalog.names().filter { $0.contains("conflicted copy") }
        #expect(copies.count == 2 && Set(copies).count == 2)
        #expect(try catalog.item("doc.txt").baseVersion?.content == ContentVersion("v3"))
    }

    // MARK: Where it goes

    @Test func theCopyIsBesideTheDocumentWhereverThatIsNow() throws {
        try begin()
        let old = try splitOff(newVersion().0)
        let folder = try catalog.create("f", kind: .folder)
        try catalog.rename("doc.txt", "new name.txt", to: folder.id)
        try catalog.edit(old)
        #expect(try catalog.names(folder.id).contains { $0.hasPrefix("new name (conflicted copy") })
        #expect(try copyName() == nil)
    }

    @Test func inAnExcludedFolderTheCopyIsExcludedToo() throws {
        let folder = try catalog.create("f~", kind: .folder)
        let inode = try catalog.create("own", in: folder.id)
        let row = try catalog.item("own", in: folder.id)
        // (As if the store had had it: then the folder goes along, and so does the copy.)
        #expect(row.isExcluded && inode.splitFrom == nil)
        try begin()
        let old = try splitOff(newVersion().0)
        try catalog.rename("doc.txt", "doc.txt", to: folder.id)
        try catalog.edit(old)
        let names = try catalog.outstanding()
        #expect(names.contains("create f~") && names.contains { $0.hasPrefix("create doc (conflicted copy") })
    }

    /// The document is gone by now, and nobody knows where it was.
    @Test func withoutTheDocumentTheCopyIsAtTheTop() throws {
        try begin()
        let old = try splitOff(newVersion().0)
        try catalog.catalog.write { try $0.mergeDeletion(of: ItemIdentifier("DOC"), defaults: catalog.defaults) }
        #expect(try catalog.names() == [])
        try catalog.edit(old)
        let name = try copyName().orThrow("no copy")
        #expect(name.hasPrefix("document (conflicted copy"))
        #expect(try catalog.inode(Filename(name)).id == old)
        #expect(try catalog.outstanding() == ["create \(name)"])
    }

    /// Deleted here: its place is known, for its item is kept until the store knows.
    @Test func aDocumentDeletedHereStillSaysWhere() throws {
        try begin()
        let old = try splitOff(newVersion().0)
        try catalog.unlink("doc.txt")
        try catalog.edit(old)
        #expect(try copyName()?.hasPrefix("doc (conflicted copy") == true)
    }

    @Test func inAFolderThatIsGoneTheCopyIsAtTheTop() throws {
        let folder = try catalog.create("f", kind: .folder)
        try catalog.confirm(folder.id, as: "F")
        try catalog.list([remote("IN", "in", size: 3, in: "F")], in: folder.id)
        let inside = try catalog.inode("in", in: folder.id).id
        try catalog.catalog.write {
            try $0.recordExtents(inside, generation: 1, extents: nil)
            try $0.beginWriting(inside, generation: 1, mark: .maybeModified(.none))
        }
        let old = try catalog.catalog.write { writer in
            writer.transaction.linkContents = { _, _, _ in }
            _ = try writer.mergeListing(
                of: folder.id, [remote("IN", "in", content: "v2", size: 4, in: "F")], defaults: catalog.defaults)
            for case .split(inside, let new) in writer.changes { return new }
            throw Missing(description: "no split")
        }
        try catalog.unlink("in", in: folder.id)
        _ = try catalog.catalog.write { try $0.removeFolder("f", in: .root, settle: 0) }
        try catalog.edit(old)
        let name = try copyName().orThrow("no copy at the top")
        #expect(name.hasPrefix("in (conflicted copy"))
    }
}
