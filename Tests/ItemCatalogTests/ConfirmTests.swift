import FileProvider
import ItemCatalog
import Testing
import Trees

/// What a step that the provider confirmed does to the trees.
@Suite struct ConfirmTests {
    private let catalog: TestCatalog

    init() throws {
        catalog = try TestCatalog()
        try catalog.list([])
    }

    @Test func aConfirmedCreationIsNotPending() throws {
        let inode = try catalog.create("a")
        try catalog.confirm(inode.id, as: "A", content: "v7")
        let item = try catalog.item("a")
        #expect(item.identifier == ItemIdentifier("A"))
        #expect(item.base == item.local && item.remote == item.local)
        #expect(item.baseVersion == version("v7") && item.remoteVersion == item.baseVersion)
        #expect(!item.isModified)
        #expect(try catalog.catalog.read { try $0.hasPending() } == false)
    }

    @Test func aWriteDuringTheUploadStaysPending() throws {
        let inode = try catalog.create("a")
        let sent = try catalog.item("a")
        try catalog.edit(inode.id)
        _ = try catalog.catalog.write {
            try $0.confirmCreation(
                sent.id, as: remote("A", "a"), contentRevision: sent.contentRevision, metadataRevision: 0)
        }
        let after = try catalog.item("a")
        #expect(after.identifier == ItemIdentifier("A"))
        #expect(after.contentRevision > sent.contentRevision)
        #expect(try catalog.pendingNames() == ["a"])
        // And the same for a change of contents.
        try catalog.edit(inode.id)
        try catalog.catalog.write {
            try $0.confirmContents(
                sent.id, as: remote("A", "a", content: "v2"), contentRevision: after.contentRevision,
                metadataRevision: after.metadataRevision)
        }
        #expect(try catalog.item("a").baseVersion == version("v2"))
        #expect(try catalog.pendingNames() == ["a"])
        let last = try catalog.item("a")
        try catalog.catalog.write {
            try $0.confirmContents(
                last.id, as: remote("A", "a", content: "v3"), contentRevision: last.contentRevision,
                metadataRevision: last.metadataRevision)
        }
        #expect(try catalog.pendingNames() == [])
    }

    /// The store calls what it makes otherwise, and has listed it by that name before its reply came.
    @Test func whatWasShownBeforeTheReplyIsOne() throws {
        let inode = try catalog.create("a")
        let sent = try catalog.item("a")
        let asked = try catalog.catalog.read { try $0.lastItem() }
        try catalog.list([remote("X", "theirs")])
        let confirmed = try catalog.catalog.write {
            try $0.confirmCreation(
                sent.id, as: remote("X", "theirs"), contentRevision: sent.contentRevision, metadataRevision: 0,
                sent: sent.local, asked: asked, defaults: catalog.defaults)
        }
        #expect(confirmed)
        #expect(try catalog.names() == ["theirs"])
        #expect(try catalog.inode("theirs").id == inode.id)
        #expect(try catalog.pendingNames() == [])
        try catalog.list([remote("X", "theirs")])
        #expect(try catalog.names() == ["theirs"])
    }

    /// Somebody did something with it; or it was there before the store was asked; or it has changed: not ours.
    @Test(arguments: ["written", "moved", "before", "changed"])
    func whatWasShownBeforeTheReplyIsKept(_ how: String) throws {
        if how == "before" { try catalog.list([remote("X", "theirs")]) }
        let inode = try catalog.create("a")
        let sent = try catalog.item("a")
        let asked = try catalog.catalog.read { try $0.lastItem() }
        try catalog.list([remote("X", "theirs", content: how == "changed" ? "v9" : "v1")])
        let shown = try catalog.inode("theirs")
        switch how {
        case "written": try catalog.edit(shown.id)
        case "moved": try catalog.rename("theirs", "mine")
        default: break
        }
        let confirmed = try catalog.catalog.write {
            try $0.confirmCreation(
                sent.id, as: remote("X", "theirs"), contentRevision: sent.contentRevision, metadataRevision: 0,
                sent: sent.local, asked: asked, defaults: catalog.defaults)
        }
        #expect(!confirmed)
        #expect(try catalog.names() == ["a", how == "moved" ? "mine" : "theirs"])
        #expect(try catalog.inode("a").id == inode.id)
        #expect(try catalog.inode(how == "moved" ? "mine" : "theirs").id == shown.id)
    }

    @Test func aRenameDuringTheUploadStaysPending() throws {
        try catalog.create("a")
        let sent = try catalog.item("a")
        try catalog.rename("a", "b")
        _ = try catalog.catalog.write {
            try $0.confirmCreation(
                sent.id, as: remote("A", "a"), contentRevision: sent.contentRevision, metadataRevision: 0)
        }
        let item = try catalog.item("b")
        #expect(item.base?.name == "a" && item.local?.name == "b")
        #expect(try catalog.pendingNames() == ["b"])
    }

    @Test func aDeletionDuringTheUploadStaysPending() throws {
        try catalog.create("a")
        let sent = try catalog.item("a")
        try catalog.unlink("a")
        _ = try catalog.catalog.write {
            try $0.confirmCreation(
                sent.id, as: remote("A", "a"), contentRevision: sent.contentRevision, metadataRevision: 0)
        }
        let row = try catalog.item(identified: "A").orThrow("forgotten, and left at the provider")
        #expect(row.local == nil)
        #expect(try catalog.pending().map(\.item.id) == [row.id])
    }

    @Test func aListingThatCameBeforeTheReplyMakesNoSecondItem() throws {
        let inode = try catalog.create("a")
        try catalog.list([remote("A", "a")])
        try catalog.confirm(inode.id, as: "A")
        #expect(try catalog.names() == ["a"])
        #expect(try catalog.item("a").identifier == ItemIdentifier("A"))
        #expect(try catalog.inode("a").id == inode.id)
        #expect(try catalog.pendingNames() == [])
    }

    @Test func aConfirmedMoveMovesBase() throws {
        let folder = try catalog.create("f", kind: .folder)
        try catalog.confirm(folder.id, as: "F")
        let inode = try catalog.create("a")
        try catalog.confirm(inode.id, as: "A")
        try catalog.rename("a", "b", to: folder.id)
        let item = try catalog.item("b", in: folder.id)
        // It is moved on while the provider works.
        try catalog.rename("b", "c", from: folder.id, to: folder.id)
        try catalog.catalog.write {
            try $0.confirmMove(
                item.id, as: remote("A", "b", metadata: "m2", in: "F"), sent: item.local!,
                defaults: catalog.defaults)
        }
        let after = try catalog.item("c", in: folder.id)
        #expect(after.base == item.local && after.remote == item.local)
        #expect(after.baseVersion == version("v1", "m2"))
        #expect(try catalog.pendingNames() == ["c"])
    }

    @Test func aFolderWithANewIdentifierIsListedAgain() throws {
        let folder = try catalog.create("f", kind: .folder)
        try catalog.confirm(folder.id, as: "path/f")
        try catalog.rename("f", "g")
        let item = try catalog.item("g")
        try catalog.catalog.write {
            try $0.confirmMove(
                item.id, as: remote("path/g", "g", kind: .folder), sent: item.local!, defaults: catalog.defaults)
        }
        #expect(try catalog.item("g").identifier == ItemIdentifier("path/g"))
        #expect(try catalog.inode("g").isEnumerated == false)
        #expect(try catalog.pendingNames() == [])
    }

    @Test func aConfirmedDeletionForgets() throws {
        let inode = try catalog.create("a")
        try catalog.confirm(inode.id, as: "A")
        try catalog.unlink("a")
        let row = try catalog.item(identified: "A").orThrow("no tombstone")
        try catalog.catalog.write { try $0.confirmDeletion(row.id, defaults: catalog.defaults) }
        #expect(try catalog.item(identified: "A") == nil)
        #expect(try catalog.pending().isEmpty)
    }

    @Test func aDeletionTakenBackIsShownAgain() throws {
        try catalog.list([remote("A", "a", content: "v1")])
        try catalog.unlink("a")
        let row = try catalog.item(identified: "A").orThrow("no tombstone")
        let current = remote("A", "a", content: "v2", size: 21)
        try catalog.catalog.write {
            try $0.takeBackDeletion(row.id, current: current, defaults: catalog.defaults)
        }
        #expect(try catalog.inode("a").size == 21)
        #expect(try catalog.inode("a").extents == RangeSet())
        #expect(try catalog.item("a").baseVersion == version("v2"))
        #expect(try catalog.pendingNames() == [])
    }

    @Test func failuresAreCountedAndPostpone() throws {
        try catalog.create("a")
        let item = try catalog.item("a")
        let retry = FileTime.now.adding(seconds: 100)
        for _ in 0..<2 {
            try catalog.catalog.write {
                try $0.recordFailure(item.id, code: "busy", message: "locked by X", retryAt: retry)
            }
        }
        let failure = try catalog.item("a").failure
        #expect(failure == ItemFailure(code: "busy", message: "locked by X", attempts: 2, retryAt: retry))
        #expect(try catalog.catalog.read { try $0.pending(at: .now, limit: 9) }.isEmpty)
        #expect(try catalog.pendingNames() == ["a"])
        #expect(try catalog.catalog.read { try $0.nextMoment(after: .now) } == retry)
        // A user who says "sync" does not wait.
        try catalog.catalog.write { try $0.settleNow(retrying: false) }
        #expect(try catalog.catalog.read { try $0.pending(at: .now, limit: 9) }.isEmpty)
        try catalog.catalog.write { try $0.settleNow(retrying: true) }
        #expect(try catalog.catalog.read { try $0.pending(at: .now, limit: 9) }.count == 1)
        // Another local change starts anew.
        try catalog.edit(try catalog.inode("a").id)
        #expect(try catalog.item("a").failure == nil)
    }

    @Test func whatWasSentIsRememberedUntilConfirmed() throws {
        let inode = try catalog.create("a")
        let item = try catalog.item("a")
        let sent = SentContent(hash: [1, 2, 3], size: 3)
        try catalog.catalog.write { try $0.recordSending(item.id, sent) }
        #expect(try catalog.item("a").sent == [sent])
        // Attempts that failed come before it; none stands there twice, and not more than anybody makes.
        let others = (0..<20).map { SentContent(hash: [UInt8](repeating: $0, count: 32), size: Int64.max - Int64($0)) }
        for other in others + [sent] { try catalog.catalog.write { try $0.recordSending(item.id, other) } }
        #expect(try catalog.item("a").sent == others.suffix(15) + [sent])
        try catalog.confirm(inode.id, as: "A")
        #expect(try catalog.item("a").sent.isEmpty)
    }

    @Test func metadataThatTheProviderDoesNotKeepIsNotPending() throws {
        try catalog.list([remote("A", "a")])
        let inode = try catalog.inode("a").id
        for mode: UInt32 in [0o600, 0o700] {
            _ = try catalog.catalog.write { try $0.setAttributes(inode, to: AttributeChange(mode: mode), settle: 0) }
        }
        let item = try catalog.item("a")
        try catalog.catalog.write {
            try $0.keepMetadataLocal(item.id, metadataRevision: item.metadataRevision - 1)
        }
        #expect(try catalog.pendingNames() == ["a"])
        try catalog.catalog.write { try $0.keepMetadataLocal(item.id, metadataRevision: item.metadataRevision) }
        #expect(try catalog.pendingNames() == [])
        #expect(try catalog.inode("a").mode == 0o700)
    }
}
