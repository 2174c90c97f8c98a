import FileProvider
import ItemCatalog
import Testing
import Trees

@Suite struct ListingTests {
    private let catalog: TestCatalog

    init() throws { catalog = try TestCatalog() }

    @Test func aNewItemBecomesAPlaceholder() throws {
        try catalog.list([
            remote("A", "a", size: 10), remote("E", "empty", size: 0), remote("M", "mode", mode: 0o755),
            remote("F", "f", kind: .folder),
            remote("L", "l", kind: .symbolicLink(target: Array("a/b".utf8))),
        ])
        let document = try catalog.inode("a")
        #expect(document.size == 10 && document.baseSize == 10)
        #expect(document.extents == RangeSet())
        #expect(document.mode == 0o640 && document.uid == 1_000 && document.gid == 2_000)
        #expect(document.modified == FileTime(seconds: 1_000))
        #expect(document.writing == nil)
        #expect(try catalog.inode("mode").mode == 0o755)
        #expect(try catalog.inode("f").mode == 0o750)
        #expect(try catalog.inode("f").isEnumerated == false)
        #expect(try catalog.inode("l").target == Array("a/b".utf8))
        #expect(try catalog.inode("l").size == 3)
        // Of an empty document nothing is missing.
        #expect(try catalog.inode("empty").extents == nil)
        #expect(try catalog.inode(.root).isEnumerated)
        #expect(try catalog.inode(.root).linkCount == 3)
        #expect(try catalog.pendingNames() == [])
    }

    /// Many rows are added by one statement, the rest one by one.
    @Test(arguments: [false, true]) func eachOfManyNewItemsIsInItsPlace(inParts: Bool) throws {
        let items = (0..<75).map { number in
            remote(
                "id\(number)", Filename("name \(number)"), content: "v\(number)", size: Int64(number),
                kind: number % 10 == 3 ? .folder : .document)
        }
        // One comes again under another name, and another item under a name that is taken.
        let more = [remote("id70", "later name", content: "v70", size: 70), remote("other", "name 72")]
        if inParts {
            let defaults = PlaceholderDefaults(uid: 1_000, gid: 2_000)
            let part = try catalog.catalog.write {
                try $0.mergePart(of: .root, items + more, after: nil, defaults: defaults)
            }
            #expect(
                part?.known.count == 75 && part?.refused.map(\.name) == ["name 72"] && part?.waiting.isEmpty == true)
        } else {
            try catalog.list(items + more)
        }
        #expect(try catalog.names().count == 75 && !catalog.names().contains("name 70"))
        // (Of two with one name either is shown.)
        for (number, item) in items.enumerated() where number != 72 {
            let row = try #require(try catalog.item(identified: "id\(number)"))
            let name: Filename = number == 70 ? "later name" : item.filename
            let inode = try catalog.inode(name)
            #expect(row.inode == inode.id && inode.kind == InodeKind(item.kind))
            #expect(inode.size == (item.kind.isFolder ? 0 : Int64(number)))
            #expect(
                row.local == TreePlace(parent: .root, name: name) && row.base == row.local && row.remote == row.local)
            #expect(row.baseVersion == item.version && row.remoteVersion == item.version)
        }
        #expect(try catalog.catalog.read { try $0.examine() } == [])
    }

    /// Of many changed rows, those in some folders are told, however many names the folders have.
    @Test func changesInAFolderAreFoundAmongMany() throws {
        let folder = try catalog.create("f", kind: .folder).id
        let rows = try (0..<30).map { try catalog.create(Filename("\($0)"), in: $0 < 20 ? folder : .root).id }
        var changed = ChangedRows()
        changed.inodes = [rows[19], rows[25]]
        func found(_ limit: Int = 100) throws -> Set<InodeID> {
            try catalog.catalog.read { try $0.changed(changed, in: [folder], limit: limit) }
        }
        #expect(try found() == [rows[19]])
        changed.names = try catalog.catalog.read { reader in
            Set(
                try [("18", folder), ("26", .root)].map {
                    try #require(try reader.number(of: Filename($0.0), in: $0.1))
                })
        }
        #expect(try found() == [rows[18], rows[19]])
        #expect(try found(1).count == 1)
        let named = try catalog.catalog.read { try $0.named(by: changed) }
        #expect(Set(named.map(\.inode)) == [rows[18], rows[26]])
    }

    /// Of a folder that nobody has looked into the kernel knows no names.
    @Test func aFirstListingsNamesAreNotTold() throws {
        let changes = try catalog.changes(listing: [remote("A", "a"), remote("F", "f", kind: .folder)])
        #expect(changes == [.attributes(.root)])
    }

    /// Of one that was made here it may, also that it has none of a name.
    @Test func thoseOfAFolderThatWasListedBeforeAre() throws {
        try catalog.list([])
        let made = try catalog.create("f", kind: .folder).id
        try catalog.list([remote("F", "f", kind: .folder)])
        #expect(try catalog.inode("f").isEnumerated == false)
        let changes = try catalog.changes(listing: [remote("A", "a", in: "F")], in: made)
        #expect(changes.contains(.entry(folder: made, name: "a", isNew: true)))
    }

    /// Who knows it by now knows the right one.
    @Test func itsNameIsNewToTheKernel() throws {
        try catalog.list([])
        let changes = try catalog.changes(listing: [remote("A", "a"), remote("F", "f", kind: .folder)])
        for name in ["a", "f"] as [Filename] {
            #expect(changes.contains(.entry(folder: .root, name: name, isNew: true)))
            #expect(!changes.contains(.entry(folder: .root, name: name)))
        }
    }

    /// What of a listing is new to what is there leaves the folder's dates alone, unless it is in the folder.
    @Test func aFolderIsTouchedByWhatComesAndGoesOnly() throws {
        try catalog.list([remote("A", "a")])
        let first = try catalog.inode(.root)
        try catalog.list([remote("A", "a", metadata: "m2")])
        #expect(try catalog.inode(.root) == first)
        try catalog.list([remote("A", "a", metadata: "m2"), remote("B", "b")])
        #expect(try catalog.inode(.root).changed > first.changed)
    }

    @Test func theSameListingChangesNothing() throws {
        let items = [remote("A", "a"), remote("F", "f", kind: .folder)]
        try catalog.list(items)
        let before = try catalog.inode("a")
        let changes = try catalog.changes(listing: items)
        #expect(changes == [])
        #expect(try catalog.inode("a") == before)
    }

    @Test func changedContentsAreANewGenerationOfTheSameInode() throws {
        try catalog.list([remote("A", "a", content: "v1", size: 10)])
        let before = try catalog.inode("a")
        _ = try catalog.catalog.write { try $0.recordExtents(before.id, generation: before.generation, extents: nil) }
        let changes = try catalog.changes(listing: [remote("A", "a", content: "v2", size: 20)])
        let after = try catalog.inode("a")
        #expect(after.id == before.id)
        #expect(after.generation == before.generation + 1)
        #expect(after.size == 20 && after.baseSize == 20)
        #expect(after.extents == RangeSet())
        #expect(try catalog.item("a").baseVersion == version("v2"))
        #expect(changes.contains(.contents(before.id)))
        #expect(changes.contains(.entry(folder: .root, name: "a")))
        #expect(try catalog.pendingNames() == [])
    }

    @Test func metadataAloneIsNoNewGeneration() throws {
        try catalog.list([remote("A", "a", metadata: "m1", mode: 0o600)])
        let before = try catalog.inode("a")
        let changes = try catalog.changes(listing: [remote("A", "a", metadata: "m2", mode: 0o644)])
        let after = try catalog.inode("a")
        #expect(after.generation == before.generation)
        #expect(after.mode == 0o644)
        #expect(changes == [.attributes(before.id)])
        #expect(try catalog.item("a").baseVersion == version("v1", "m2"))
    }

    @Test func aModifiedDocumentKeepsItsBytes() throws {
        try catalog.list([remote("A", "a", content: "v1")])
        let inode = try catalog.inode("a")
        try catalog.edit(inode.id, size: 77)
        try catalog.list([remote("A", "a", content: "v2", size: 5)])
        let after = try catalog.inode("a")
        #expect(after.generation == inode.generation && after.size == 77)
        let item = try catalog.item("a")
        #expect(item.baseVersion == version("v1"))
        #expect(item.remoteVersion == version("v2"))
        #expect(item.contentRevision > 0)
    }

    @Test func aDocumentBeingWrittenWaitsAndTakesTheChangeAfterwards() throws {
        try catalog.list([remote("A", "a", content: "v1")])
        let inode = try catalog.inode("a")
        try catalog.catalog.write {
            try $0.beginWriting(inode.id, generation: inode.generation, mark: .maybeModified(.none))
        }
        try catalog.list([remote("A", "a", content: "v2", size: 5)])
        #expect(try catalog.inode("a").generation == inode.generation)
        // It wrote nothing after all.
        try catalog.catalog.write { try $0.endWriting(inode.id, settle: 0, defaults: catalog.defaults) }
        #expect(try catalog.inode("a").generation == inode.generation + 1)
        #expect(try catalog.inode("a").size == 5)
        #expect(try catalog.pendingNames() == [])
    }

    @Test func aRenamedItemKeepsItsInodeAndItsBytes() throws {
        try catalog.list([remote("A", "a")])
        let before = try catalog.inode("a")
        try catalog.list([remote("A", "b", metadata: "m2")])
        #expect(try catalog.names() == ["b"])
        let after = try catalog.inode("b")
        #expect(after.id == before.id && after.generation == before.generation)
        #expect(try catalog.pendingNames() == [])
    }

    @Test func anItemMovesBetweenFolders() throws {
        try catalog.list([remote("A", "a"), remote("F", "f", kind: .folder), remote("S", "s", kind: .folder)])
        let folder = try catalog.inode("f")
        try catalog.list([], in: folder.id)
        let inode = try catalog.inode("a")
        try catalog.list([remote("A", "a"), remote("S", "s", kind: .folder)], in: folder.id)
        #expect(try catalog.names() == ["f"])
        #expect(try catalog.names(folder.id) == ["a", "s"])
        #expect(try catalog.inode("a", in: folder.id).id == inode.id)
        #expect(try catalog.inode(.root).linkCount == 3)
        #expect(try catalog.inode(folder.id).linkCount == 3)
        // The listing of where it was does not miss it any more.
        #expect(try catalog.list([remote("F", "f", kind: .folder)]).missing == [])
    }

    @Test func twoItemsSwapTheirNames() throws {
        try catalog.list([remote("A", "a"), remote("B", "b")])
        let (a, b) = (try catalog.inode("a"), try catalog.inode("b"))
        try catalog.list([remote("A", "b", metadata: "m2"), remote("B", "a", metadata: "m2")])
        #expect(try catalog.names() == ["a", "b"])
        #expect(try catalog.inode("a").id == b.id)
        #expect(try catalog.inode("b").id == a.id)
        #expect(try catalog.pendingNames() == [])
    }

    @Test func namesMoveAroundInACircle() throws {
        try catalog.list([remote("A", "a"), remote("B", "b"), remote("C", "c")])
        let a = try catalog.inode("a").id
        try catalog.list([remote("A", "b"), remote("B", "c"), remote("C", "a")])
        #expect(try catalog.inode("b").id == a)
        #expect(try catalog.names() == ["a", "b", "c"])
        #expect(try catalog.pendingNames() == [])
    }

    @Test func whatIsMissingIsReportedAndStays() throws {
        try catalog.list([remote("A", "a"), remote("B", "b")])
        let result = try catalog.list([remote("B", "b")])
        #expect(result.missing == [ItemIdentifier("A")])
        #expect(try catalog.names() == ["a", "b"])
        #expect(try catalog.pendingNames() == [])
        // Only the provider's own word removes it.
        try catalog.catalog.write { try $0.mergeDeletion(of: ItemIdentifier("A"), defaults: catalog.defaults) }
        #expect(try catalog.names() == ["b"])
    }

    @Test func theSameDocumentUnderANewIdentifierIsRecognised() throws {
        try catalog.list([remote("old/a", "a", content: "v1")])
        let inode = try catalog.inode("a")
        let result = try catalog.list([remote("new/a", "a", content: "v1")])
        #expect(result.missing == [])
        #expect(try catalog.inode("a").id == inode.id)
        #expect(try catalog.inode("a").generation == inode.generation)
        #expect(try catalog.item("a").identifier == ItemIdentifier("new/a"))
        #expect(try catalog.item(identified: "old/a") == nil)
    }

    /// Another program saves by writing beside and renaming over: another document under an old name.
    @Test func aReplacedDocumentIsShownOnceTheOldOneIsKnownToBeGone() throws {
        try catalog.list([remote("A", "a", content: "v1")])
        let old = try catalog.inode("a").id
        let result = try catalog.list([remote("B", "a", content: "w1", size: 3)])
        #expect(result.missing == [ItemIdentifier("A")])
        #expect(try catalog.names() == ["a"])
        try catalog.catalog.write { try $0.mergeDeletion(of: ItemIdentifier("A"), defaults: catalog.defaults) }
        #expect(try catalog.names() == ["a"])
        #expect(try catalog.inode("a").id != old)
        #expect(try catalog.item("a").identifier == ItemIdentifier("B"))
        #expect(try catalog.inode("a").size == 3)
        #expect(try catalog.pendingNames() == [])
    }

    /// `mv b a` in the store, both known: the name passes to b, and nothing of it goes back to the store.
    @Test func aKnownItemRenamedOverAnotherTakesItsName() throws {
        try catalog.list([remote("A", "a"), remote("B", "b")])
        let moved = try catalog.inode("b").id
        let result = try catalog.list([remote("B", "a", metadata: "m2")])
        #expect(result.missing == [ItemIdentifier("A")])
        #expect(try catalog.pendingNames() == [], "a rename that nobody made here is on its way to the store")
        try catalog.catalog.write { try $0.mergeDeletion(of: ItemIdentifier("A"), defaults: catalog.defaults) }
        #expect(try catalog.names() == ["a"])
        #expect(try catalog.inode("a").id == moved)
        #expect(try catalog.pendingNames() == [])
    }

    /// An identifier known from another folder, under a name and with contents known from this one.
    @Test func aMoveOntoTheNameOfAnEqualDocumentIsAMove() throws {
        try catalog.list([remote("A", "a", content: "same"), remote("F", "f", kind: .folder)])
        let folder = try catalog.inode("f").id
        try catalog.list([remote("B", "b", content: "same", in: "F")], in: folder)
        let listing = [remote("B", "a", content: "same"), remote("F", "f", kind: .folder)]
        #expect(throws: Never.self) { try catalog.list(listing) }
        #expect(try catalog.item(identified: "B") != nil)
    }

    @Test func whatCannotBeANameIsRefused() throws {
        let result = try catalog.list([
            remote("1", "a/b"), remote("2", Filename(bytes: [0x61, 0])), remote("3", ".."), remote("4", "."),
            remote("5", ""), remote("6", Filename(bytes: [UInt8](repeating: 0x61, count: 256))),
            remote("7", "negative", size: -1), remote("", "anonymous"),
            remote(ItemIdentifier.rootContainer.rawValue, "root"),
            remote("8", "good"), remote("9", "good"), remote("8", "twice"),
            remote("10", Filename(bytes: [UInt8](repeating: 0x62, count: 255))),
        ])
        #expect(result.refused.count == 10)
        #expect(result.refused.allSatisfy { !$0.reason.isEmpty })
        // Of what comes twice the later is right.
        #expect(try catalog.names() == [String(repeating: "b", count: 255), "good", "twice"])
        #expect(try catalog.item("good").identifier == ItemIdentifier("9"))
        #expect(try catalog.item("twice").identifier == ItemIdentifier("8"))
        #expect(try catalog.inode(.root).isEnumerated)
    }

    @Test func aFolderIsNeverPutIntoItself() throws {
        try catalog.list([remote("F", "f", kind: .folder)])
        let outer = try catalog.inode("f").id
        try catalog.list([remote("G", "g", kind: .folder, in: "F")], in: outer)
        let inner = try catalog.inode("g", in: outer).id
        let result = try catalog.list([remote("F", "f", kind: .folder), remote("x", "x")], in: inner)
        #expect(result.refused.map(\.name) == ["f"])
        #expect(try catalog.names(inner) == ["x"])
        #expect(try catalog.names() == ["f"])
        #expect(try catalog.names(outer) == ["g"])
        // Nor by a word about the one item.
        try catalog.catalog.write {
            try $0.mergeItem(remote("F", "f", kind: .folder, in: "G"), defaults: catalog.defaults)
        }
        #expect(try catalog.catalog.read { try $0.path(of: inner) } == ["f", "g"])
        // Into itself directly.
        let direct = try catalog.list([remote("F", "again", kind: .folder)], in: outer)
        #expect(direct.refused.count == 1)
    }

    /// A file gave way to a folder where identifiers are paths.
    @Test func aChangedKindIsSeen() throws {
        try catalog.list([remote("p", "p", content: "v1")])
        try catalog.list([remote("p", "p", content: "dir", kind: .folder)])
        #expect(try catalog.inode("p").kind == .folder)
    }

    @Test func aLinkThatPointsElsewhereIsSeen() throws {
        try catalog.list([remote("p", "p", content: "1", kind: .symbolicLink(target: Array("old".utf8)))])
        try catalog.list([remote("p", "p", content: "2", kind: .symbolicLink(target: Array("new".utf8)))])
        #expect(try catalog.inode("p").target == Array("new".utf8))
    }

    @Test func aListingOfAnExcludedOrUnconfirmedFolderIsIgnored() throws {
        try catalog.list([])
        let folder = try catalog.create("f", kind: .folder)
        #expect(try catalog.list([remote("X", "x")], in: folder.id).missing == [])
        #expect(try catalog.names(folder.id) == [])
        #expect(try catalog.item(identified: "X") == nil)
    }

    @Test func twoFoldersOfOneNameBecomeOne() throws {
        try catalog.list([])
        let folder = try catalog.create("f", kind: .folder)
        try catalog.create("mine", in: folder.id)
        try catalog.list([remote("F", "f", kind: .folder)])
        #expect(try catalog.item("f").identifier == ItemIdentifier("F"))
        #expect(try catalog.inode("f").id == folder.id)
        // What else is in it is to be asked for.
        #expect(try catalog.inode("f").isEnumerated == false)
        try catalog.list([remote("T", "theirs", in: "F")], in: folder.id)
        #expect(try catalog.names(folder.id) == ["mine", "theirs"])
        #expect(try catalog.pendingNames() == ["mine"])
    }

    @Test func twoDocumentsOfOneNameWaitForTheUpload() throws {
        try catalog.list([])
        let mine = try catalog.create("a")
        try catalog.list([remote("A", "a")])
        #expect(try catalog.inode("a").id == mine.id)
        #expect(try catalog.pendingNames() == ["a"])
        #expect(try catalog.item("a").identifier == nil)
    }
}
