import FileProvider
import ItemCatalog
import Testing
import Trees

/// Identity through saves (Architecture, *Identity*): which item goes on with which inode, and what the store is told.
@Suite struct IdentityTests {
    /// An upload that ends must not be taken for one of what was saved meanwhile.
    @Test func noTwoSavesOfADocumentHaveTheSameNumber() throws {
        let catalog = try TestCatalog.unsettled()
        try catalog.document("doc", "DOC")
        let item = try catalog.item("doc").id
        var sent: Set<Int64> = []
        for round in 0..<4 {
            try catalog.unlink("doc")
            try catalog.create(Filename("tmp\(round)"))
            try catalog.rename(Filename("tmp\(round)"), "doc")
            let now = try catalog.item("doc")
            #expect(now.id == item && sent.insert(now.contentRevision).inserted)
        }
        for _ in 0..<4 {
            try catalog.unlink("doc")
            let inode = try catalog.create("doc")
            try catalog.edit(inode.id, size: 5)
            let now = try catalog.item("doc")
            #expect(now.id == item && sent.insert(now.contentRevision).inserted)
        }
    }

    private let catalog: TestCatalog

    init() throws { catalog = try TestCatalog.unsettled() }

    // MARK: Renamed over

    enum Known: CaseIterable { case unconfirmed, confirmed, excluded }

    /// What is made of `from` and renamed over `over`, and what the store is to be told.
    @Test(arguments: [
        (Known.unconfirmed, Known.confirmed, ["change OVER"]),
        (.excluded, .confirmed, ["change OVER"]),
        (.confirmed, .confirmed, ["delete OVER", "move FROM doc"]),
        (.unconfirmed, .unconfirmed, ["create doc"]),
        (.excluded, .unconfirmed, ["create doc"]),
        (.confirmed, .unconfirmed, ["move FROM doc"]),
        (.unconfirmed, .excluded, []),
        (.excluded, .excluded, []),
        (.confirmed, .excluded, ["move FROM doc~"]),
    ])
    func renamedOver(from: Known, over: Known, expected: [String]) throws {
        func make(_ known: Known, _ name: Filename, _ identifier: String) throws -> (Filename, InodeRecord) {
            switch known {
            case .confirmed: return (name, try catalog.document(name, identifier))
            case .unconfirmed: return (name, try catalog.create(name))
            case .excluded: return (Filename(name.string + "~"), try catalog.create(Filename(name.string + "~")))
            }
        }
        let (name, source) = try make(from, "new", "FROM")
        let (target, old) = try make(over, "doc", "OVER")
        let before = try catalog.item(target)
        let result = try catalog.rename(name, target)
        #expect(result.replaced?.id == old.id && result.replaced?.linkCount == 0)
        #expect(try catalog.outstanding() == expected)
        #expect(try catalog.names() == [target.string])
        #expect(try catalog.inode(target).id == source.id)
        let item = try catalog.item(target)
        #expect(item.inode == source.id && item.local == TreePlace(parent: .root, name: target))
        #expect(item.isExcluded == (over == .excluded && from != .confirmed))
        // Where the source was never at the store, the item of the name goes on.
        if from != .confirmed && over != .excluded { #expect(item.id == before.id) }
        if from == .confirmed { #expect(item.identifier == ItemIdentifier("FROM")) }
    }

    // MARK: Given up and taken again

    @Test func aDocumentUnlinkedAndMadeAgainIsTheSame() throws {
        let old = try catalog.document("doc", "DOC")
        try catalog.unlink("doc")
        let fresh = try catalog.create("doc")
        #expect(fresh.id != old.id)
        #expect(try catalog.item("doc").inode == fresh.id)
        #expect(try catalog.identifier("doc") == "DOC")
        #expect(try catalog.outstanding() == ["change DOC"])
        #expect(try catalog.item("doc").base == catalog.item("doc").local)
    }

    @Test func aDocumentUnlinkedAndRenamedToIsTheSame() throws {
        try catalog.document("doc", "DOC")
        let temporary = try catalog.create("tmp")
        try catalog.unlink("doc")
        try catalog.rename("tmp", "doc")
        #expect(try catalog.item("doc").inode == temporary.id)
        #expect(try catalog.identifier("doc") == "DOC")
        #expect(try catalog.outstanding() == ["change DOC"])
    }

    /// What the store has already is no new version of something else.
    @Test func aConfirmedFileInTheFreedNameIsItself() throws {
        try catalog.document("doc", "DOC")
        try catalog.document("other", "OTHER")
        try catalog.unlink("doc")
        try catalog.rename("other", "doc")
        #expect(try catalog.outstanding() == ["delete DOC", "move OTHER doc"])
    }

    /// The original makes way under a name for backups; a new file takes its own.
    @Test(arguments: [
        ("report.odt~", true), ("#report.odt#", true), (".report.odt.swp", true), (".#report.odt", true),
        ("report.odt.bak", false), ("report.bak", false), ("report.odt.BAK", false), ("report.old", false),
        ("report.odt.orig", false), ("report.backup", false), ("report.odt.save", false),
    ])
    func aBackupIsTheOldVersion(backup: Filename, isExcluded: Bool) throws {
        let old = try catalog.document("report.odt", "DOC")
        try catalog.rename("report.odt", backup)
        #expect(try catalog.outstanding() == ["move DOC \(backup)"])
        let fresh = try catalog.create("report.odt")
        #expect(try catalog.item("report.odt").inode == fresh.id)
        #expect(try catalog.identifier("report.odt") == "DOC")
        let kept = try catalog.item(backup)
        #expect(kept.inode == old.id && kept.identifier == nil && kept.base == nil)
        #expect(kept.isExcluded == isExcluded)
        #expect(try catalog.outstanding() == ["change DOC"] + (isExcluded ? [] : ["create \(backup)"]))
    }

    @Test(arguments: ["copy.odt", "unrelated.bak", "report.txt", "2 report.odt.bak"])
    func anotherNameIsAMove(name: Filename) throws {
        let old = try catalog.document("report.odt", "DOC")
        try catalog.rename("report.odt", name)
        let fresh = try catalog.create("report.odt")
        #expect(try catalog.item(name).inode == old.id)
        #expect(try catalog.identifier(name) == "DOC")
        #expect(try catalog.item("report.odt").inode == fresh.id)
        #expect(try catalog.outstanding() == ["create report.odt", "move DOC \(name)"])
    }

    @Test func aBackupAndARenamedFileAsWell() throws {
        let old = try catalog.document("doc", "DOC")
        let temporary = try catalog.create("tmp")
        try catalog.rename("doc", "doc.bak")
        try catalog.rename("tmp", "doc")
        #expect(try catalog.item("doc").inode == temporary.id)
        #expect(try catalog.item("doc.bak").inode == old.id)
        #expect(try catalog.outstanding() == ["change DOC", "create doc.bak"])
    }

    @Test func aBackupMadeAsALinkKeepsTheOldBytes() throws {
        let old = try catalog.document("doc", "DOC")
        try catalog.link(old.id, "doc~")
        let temporary = try catalog.create("tmp")
        let result = try catalog.rename("tmp", "doc")
        #expect(result.replaced?.id == old.id && result.replaced?.linkCount == 1)
        #expect(try catalog.item("doc").inode == temporary.id)
        #expect(try catalog.item("doc~").inode == old.id)
        #expect(try catalog.item("doc~").isExcluded)
        #expect(try catalog.outstanding() == ["change DOC"])
    }

    @Test func aLinkUnderAnyNameKeepsTheOldBytes() throws {
        let old = try catalog.document("doc", "DOC")
        try catalog.link(old.id, "other")
        try catalog.create("tmp")
        try catalog.rename("tmp", "doc")
        #expect(try catalog.item("other").inode == old.id)
        #expect(try catalog.identifier("other") == nil)
        #expect(try catalog.outstanding() == ["change DOC", "create other"])
    }

    @Test func aLinkAndAnUnlinkIsARename() throws {
        let old = try catalog.document("doc", "DOC")
        try catalog.link(old.id, "doc~")
        try catalog.unlink("doc")
        #expect(try catalog.outstanding() == ["move DOC doc~"])
        let fresh = try catalog.create("doc")
        #expect(try catalog.item("doc").inode == fresh.id)
        #expect(try catalog.identifier("doc") == "DOC")
        #expect(try catalog.item("doc~").inode == old.id)
        #expect(try catalog.outstanding() == ["change DOC"])
    }

    /// What follows when the settle time is over is another change: the first one may be under way.
    @Test func tooLateItIsAnotherDocument() throws {
        try catalog.document("a", "A")
        try catalog.document("b", "B")
        try catalog.unlink("a")
        try catalog.rename("b", "b~")
        try catalog.settled()
        try catalog.create("a")
        try catalog.create("b")
        #expect(try catalog.outstanding() == ["create a", "create b", "delete A", "move B b~"])
        #expect(try catalog.identifier("a") == nil)
    }

    @Test func anotherKindOfFileIsAnotherItem() throws {
        for (number, kind) in [ItemKind.folder, .symbolicLink(target: [0x78])].enumerated() {
            let name = Filename("doc \(number)")
            try catalog.document(name, "DOC \(number)")
            try catalog.unlink(name)
            try catalog.create(name, kind: kind)
            #expect(try catalog.identifier(name) == nil)
        }
        try catalog.document("piped", "PIPED")
        try catalog.unlink("piped")
        try catalog.pipe("piped")
        #expect(
            try catalog.outstanding()
                == ["create doc 0", "create doc 1", "delete DOC 0", "delete DOC 1", "delete PIPED"])
    }

    @Test func aFolderIsNoNextVersion() throws {
        try catalog.folder("f", "F")
        _ = try catalog.catalog.write { try $0.removeFolder("f", in: .root, settle: 60) }
        try catalog.create("f", kind: .folder)
        #expect(try catalog.outstanding() == ["create f", "delete F"])
    }

    /// The place counts, not the name.
    @Test func theSameNameInAnotherFolderIsAnotherDocument() throws {
        let folder = try catalog.folder("f", "F")
        try catalog.document("doc", "DOC")
        try catalog.unlink("doc")
        try catalog.create("doc", in: folder.id)
        #expect(try catalog.outstanding() == ["create doc", "delete DOC"])
    }

    /// The store changed it meanwhile: that version must not be written over unseen.
    @Test func aDocumentThatTheStoreMovedIsNotTakenBack() throws {
        try catalog.list([remote("DOC", "doc", size: 0)])
        try catalog.unlink("doc")
        try catalog.list([remote("DOC", "elsewhere", size: 0)])
        try catalog.create("doc")
        #expect(try catalog.outstanding() == ["create doc", "delete DOC"])
    }

    // MARK: Not all of it is here

    @Test func aPlaceholderThatMakesWayIsMoved() throws {
        try catalog.list([remote("DOC", "doc", size: 10)])
        let old = try catalog.inode("doc").id
        try catalog.rename("doc", "doc~")
        let fresh = try catalog.create("doc")
        #expect(try catalog.item("doc~").inode == old)
        #expect(try catalog.identifier("doc~") == "DOC")
        #expect(try catalog.item("doc").inode == fresh.id)
        #expect(try catalog.outstanding() == ["create doc", "move DOC doc~"])
    }

    /// With nothing to keep, nothing is missing.
    @Test func aPlaceholderThatWasUnlinkedNeedNotBeHere() throws {
        try catalog.list([remote("DOC", "doc", size: 10), remote("B", "b", size: 10)])
        try catalog.unlink("doc")
        try catalog.create("doc")
        try catalog.create("tmp")
        try catalog.rename("tmp", "b")
        #expect(try catalog.outstanding() == ["change B", "change DOC"])
    }

    @Test func whoCanBringTheBytesIsAskedFirst() throws {
        try catalog.list([remote("DOC", "doc", size: 10)])
        let old = try catalog.inode("doc").id
        try catalog.rename("doc", "doc~")
        func createDownloading(_ answer: Bool) throws {
            try catalog.catalog.write { writer in
                writer.transaction.canDownload = { inode in
                    #expect(inode == old)
                    return answer
                }
                let file = NewFile(kind: .document, mode: 0o644, uid: 0, gid: 0)
                _ = try writer.create(file, in: .root, named: "doc", settle: 60)
            }
        }
        #expect(failure { try createDownloading(true) } == .incomplete(old))
        #expect(try catalog.names() == ["doc~"])
        #expect(try catalog.outstanding() == ["move DOC doc~"])
        // They came.
        _ = try catalog.catalog.write { try $0.recordExtents(old, generation: 1, extents: nil) }
        try createDownloading(true)
        #expect(try catalog.identifier("doc") == "DOC")
        #expect(try catalog.item("doc~").inode == old)
        #expect(try catalog.outstanding() == ["change DOC"])
    }

    @Test func bytesThatCannotBeBroughtMakeItAMove() throws {
        try catalog.list([remote("DOC", "doc", size: 10)])
        let old = try catalog.inode("doc").id
        try catalog.link(old, "doc~")
        try catalog.create("tmp")
        func rename(downloading answer: Bool) throws {
            _ = try catalog.catalog.write { writer in
                writer.transaction.canDownload = { _ in answer }
                return try writer.rename(
                    "tmp", in: .root, to: "doc", in: .root, noReplace: false, settle: 60)
            }
        }
        #expect(failure { try rename(downloading: true) } == .incomplete(old))
        #expect(try catalog.names() == ["doc", "doc~", "tmp"])
        try rename(downloading: false)
        #expect(try catalog.identifier("doc~") == "DOC")
        #expect(try catalog.outstanding() == ["create doc", "move DOC doc~"])
    }

    enum Way: CaseIterable { case over, intoTheFreedName, beforeItIsFreed }

    /// What the store has deleted, and not all of whose bytes came: what is missing must not be taken from another
    /// document.
    @Test(arguments: Way.allCases)
    func whatIsNotAllHereIsNoNextVersion(way: Way) throws {
        try catalog.document("doc", "DOC")
        let torn = try catalog.create("torn")
        _ = try catalog.catalog.write {
            try $0.truncate(torn.id, to: 10, baseSize: 10, extents: RangeSet(0..<4), mark: nil, settle: 0)
        }
        switch way {
        case .over: try catalog.rename("torn", "doc")
        case .intoTheFreedName:
            try catalog.unlink("doc")
            try catalog.rename("torn", "doc")
        case .beforeItIsFreed:
            try catalog.rename("doc", "4711")
            try catalog.rename("torn", "doc")
            try catalog.unlink("4711")
        }
        #expect(try catalog.inode("doc").id == torn.id)
        #expect(try catalog.item("doc").identifier == nil)
        #expect(try catalog.outstanding() == ["create doc", "delete DOC"])
    }

    // MARK: Editors

    @Test func vimsOrder() throws {
        let old = try catalog.document("doc", "DOC")
        try catalog.rename("doc", "doc~")
        let fresh = try catalog.create("doc")
        let gone = try catalog.unlink("doc~")
        #expect(gone.id == old.id && gone.linkCount == 0)
        #expect(try catalog.names() == ["doc"])
        #expect(try catalog.item("doc").inode == fresh.id)
        #expect(try catalog.outstanding() == ["change DOC"])
    }

    /// The original goes under a name that says nothing, and is deleted at the end.
    @Test func theOtherOrder() throws {
        let old = try catalog.document("doc", "DOC")
        let number = try catalog.item("doc").id
        try catalog.rename("doc", "4711")
        let fresh = try catalog.create("doc")
        #expect(try catalog.outstanding() == ["create doc", "move DOC 4711"])
        let gone = try catalog.unlink("4711")
        #expect(gone.id == old.id)
        let item = try catalog.item("doc")
        #expect(item.id == number && item.inode == fresh.id && item.base == item.local)
        #expect(try catalog.outstanding() == ["change DOC"])
    }

    @Test func theOtherOrderTooLate() throws {
        try catalog.document("doc", "DOC")
        try catalog.rename("doc", "4711")
        try catalog.create("doc")
        try catalog.settled()
        try catalog.unlink("4711")
        #expect(try catalog.outstanding() == ["create doc", "delete DOC"])
    }

    @Test func theOtherOrderWithAnotherKind() throws {
        try catalog.document("doc", "DOC")
        try catalog.rename("doc", "4711")
        try catalog.create("doc", kind: .folder)
        try catalog.unlink("4711")
        #expect(try catalog.outstanding() == ["create doc", "delete DOC"])
    }

    /// The heir is another name of a file that goes by one elsewhere: that file stays itself.
    @Test func theOtherOrderWithASecondName() throws {
        try catalog.document("doc", "DOC")
        let other = try catalog.create("other")
        try catalog.rename("doc", "4711")
        try catalog.link(other.id, "doc")
        try catalog.unlink("4711")
        #expect(try catalog.outstanding() == ["create other", "delete DOC"])
    }

    /// The backup was renamed over by a later one: only the last two versions are left.
    @Test func savesOneAfterTheOther() throws {
        var inode = try catalog.document("doc", "DOC").id
        for _ in 0..<3 {
            try catalog.rename("doc", "doc~")
            let fresh = try catalog.create("doc")
            #expect(try catalog.inode("doc~").id == inode)
            inode = fresh.id
            #expect(try catalog.outstanding() == ["change DOC"])
        }
        #expect(try catalog.names() == ["doc", "doc~"])
    }

    /// The backup's upload would be a file that nobody wanted there.
    @Test func aRestoredBackupIsTheDocument() throws {
        let old = try catalog.document("doc", "DOC")
        try catalog.rename("doc", "doc~")
        try catalog.create("doc")
        try catalog.rename("doc~", "doc")
        #expect(try catalog.item("doc").inode == old.id)
        #expect(try catalog.outstanding() == ["change DOC"])
    }

    // MARK: While it is being sent

    /// vim saves a new document again while its first version is on its way.
    @Test func aBackupWhoseUploadIsUnderWayIsDeletedThere() throws {
        let first = try catalog.create("doc")
        let sent = try catalog.item("doc")
        try catalog.catalog.write { try $0.recordSending(sent.id, SentContent(hash: [1], size: 0)) }
        try catalog.rename("doc", "doc~")
        // It may be the store's.
        #expect(try !catalog.item("doc~").isExcluded)
        let second = try catalog.create("doc")
        #expect(try catalog.unlink("doc~").id == first.id)
        // Now the store's reply comes.
        _ = try catalog.catalog.write {
            try $0.confirmCreation(
                sent.id, as: remote("FIRST", "doc"), contentRevision: sent.contentRevision, metadataRevision: 0)
        }
        #expect(try catalog.outstanding() == ["create doc", "delete FIRST"])
        #expect(try catalog.item("doc").inode == second.id)
        try catalog.settled()
        // And it knows who has its name until then.
        let waiting = try catalog.pending().first { $0.item.identifier == nil }
        #expect(waiting?.occupant?.identifier == ItemIdentifier("FIRST"))
    }

    @Test func aTemporaryWhoseUploadIsUnderWayIsDeletedThere() throws {
        try catalog.document("doc", "DOC")
        try catalog.create("tmp")
        let sent = try catalog.item("tmp")
        try catalog.catalog.write { try $0.recordSending(sent.id, SentContent(hash: [1], size: 0)) }
        try catalog.rename("tmp", "tmp~")
        try catalog.rename("tmp~", "doc")
        _ = try catalog.catalog.write {
            try $0.confirmCreation(
                sent.id, as: remote("TMP", "tmp"), contentRevision: sent.contentRevision, metadataRevision: 0)
        }
        #expect(try catalog.outstanding() == ["change DOC", "delete TMP"])
    }
}
