import FileProvider
import ItemCatalog
import Testing
import Trees

@Suite struct PendingTests {
    private let catalog: TestCatalog

    init() throws {
        catalog = try TestCatalog()
        try catalog.list([])
    }

    private func order() throws -> [String] {
        try catalog.pending().compactMap { ($0.item.local ?? $0.item.base)?.name.string }
    }

    @Test func parentsComeBeforeWhatIsInThem() throws {
        let outer = try catalog.create("outer", kind: .folder)
        let inner = try catalog.create("inner", in: outer.id, kind: .folder)
        try catalog.create("leaf", in: inner.id)
        #expect(try order() == ["outer"])
        try catalog.confirm(outer.id, as: "O")
        #expect(try order() == ["inner"])
        #expect(try catalog.pending().first?.parentIdentifier == ItemIdentifier("O"))
        try catalog.confirm(inner.id, as: "I")
        #expect(try order() == ["leaf"])
    }

    @Test func theOldestChangeComesFirst() throws {
        for name in ["a", "b", "c"] as [Filename] {
            let inode = try catalog.create(name)
            try catalog.confirm(inode.id, as: name.string)
        }
        for name in ["c", "a", "b"] as [Filename] { try catalog.edit(try catalog.inode(name).id) }
        #expect(try order() == ["c", "a", "b"])
        #expect(try catalog.catalog.read { try $0.pending(at: TestCatalog.later, limit: 2) }.count == 2)
    }

    /// Among few and among many that the store has.
    @Test(arguments: [0, 1_500]) func aFoldersMetadataWaitForWhatIsInIt(others: Int) throws {
        let folder = try catalog.create("folder", kind: .folder)
        try catalog.confirm(folder.id, as: "F")
        try catalog.list((0..<others).map { remote("\($0)", Filename("\($0)"), in: "F") }, in: folder.id)
        let inside = try catalog.create("new", in: folder.id)
        _ = try catalog.catalog.write {
            try $0.setAttributes(folder.id, to: AttributeChange(mode: 0o555), settle: 0)
        }
        func waits(lasting: [String] = []) throws -> Bool? {
            try catalog.catalog.read { try $0.pending(at: TestCatalog.later, limit: 10, lasting: lasting) }
                .first { $0.item.inode == folder.id }?.hasUnsentChildren
        }
        #expect(try waits() == true)
        let item = try catalog.item("new", in: folder.id).id
        func fail(_ code: String) throws {
            try catalog.catalog.write { try $0.recordFailure(item, code: code, message: "no", retryAt: .now) }
        }
        try fail("busy")
        #expect(try waits(lasting: ["invalidName"]) == true)
        try fail("invalidName")
        #expect(try waits() == true && waits(lasting: ["readOnly", "invalidName"]) == false)
        try catalog.confirm(inside.id, as: "N")
        #expect(try waits() == false)
        // What goes, by a move or for good, and what is changed; not what is still being written.
        try catalog.rename("new", "moved", from: folder.id)
        #expect(try waits() == true)
        try catalog.rename("moved", "new", to: folder.id)
        #expect(try waits() == false)
        try catalog.edit(inside.id)
        #expect(try waits() == true)
        try catalog.catalog.write { try $0.beginWriting(inside.id, generation: 1, mark: .modified) }
        #expect(try waits() == false)
        try catalog.catalog.write { try $0.endWriting(inside.id, settle: 0, defaults: catalog.defaults) }
        try catalog.unlink("new", in: folder.id)
        #expect(try waits() == true)
    }

    @Test func aWriterAtWorkIsNotReady() throws {
        let inode = try catalog.create("a")
        try catalog.confirm(inode.id, as: "A")
        try catalog.catalog.write { try $0.beginWriting(inode.id, generation: 1, mark: .modified) }
        #expect(try catalog.catalog.read { try $0.hasPending() })
        #expect(try catalog.pending().isEmpty)
        #expect(try catalog.catalog.read { try $0.nextMoment(after: .now) } == nil)
        // Nor does "sync now" send half a document.
        try catalog.catalog.write { try $0.settleNow(retrying: true) }
        #expect(try catalog.pending().isEmpty)
        try catalog.catalog.write { try $0.endWriting(inode.id, settle: 0, defaults: catalog.defaults) }
        #expect(try order() == ["a"])
    }

    @Test func maybeModifiedIsNotPending() throws {
        let inode = try catalog.create("a")
        try catalog.confirm(inode.id, as: "A")
        try catalog.catalog.write { try $0.beginWriting(inode.id, generation: 1, mark: .maybeModified(.none)) }
        #expect(try catalog.catalog.read { try $0.hasPending() } == false)
        #expect(try catalog.catalog.read { try $0.inodesBeingWritten() }.map(\.id) == [inode.id])
        #expect(
            failure {
                try catalog.catalog.write { try $0.beginWriting(inode.id, generation: 2, mark: .modified) }
            } == .replaced)
    }

    @Test func theSettleTimeIsKept() throws {
        let inode = try catalog.create("a")
        try catalog.confirm(inode.id, as: "A")
        let before = FileTime.now
        try catalog.catalog.write {
            _ = try $0.recordWritten(inode.id, size: 4, modified: .now, mark: nil, settle: 60)
        }
        let ready = try catalog.item("a").readyAt
        #expect(ready >= before.adding(seconds: 60) && ready <= FileTime.now.adding(seconds: 60))
        #expect(try catalog.catalog.read { try $0.nextMoment(after: .now) } == ready)
        #expect(try catalog.catalog.read { try $0.pending(at: .now, limit: 9) }.isEmpty)
        #expect(try catalog.catalog.read { try $0.pending(at: ready, limit: 9) }.count == 1)
    }

    @Test func aDeletedFolderKnowsWhatTheProviderStillHasInIt() throws {
        try catalog.list([remote("F", "f", kind: .folder)])
        let folder = try catalog.inode("f").id
        try catalog.list([remote("X", "x", in: "F")], in: folder)
        try catalog.unlink("x", in: folder)
        _ = try catalog.catalog.write { try $0.removeFolder("f", in: .root, settle: 0) }
        func state() throws -> PendingItem.RemoteChildren? {
            try catalog.pending().first { $0.item.identifier == ItemIdentifier("F") }?.remoteChildren
        }
        #expect(try state() == .leaving)
        let x = try catalog.item(identified: "X").orThrow("no tombstone")
        try catalog.catalog.write { try $0.confirmDeletion(x.id, defaults: catalog.defaults) }
        #expect(try state() == PendingItem.RemoteChildren.none)
    }

    @Test func truncationIsRecordedBeforeTheBytes() throws {
        try catalog.list([remote("A", "a", size: 100)])
        let inode = try catalog.inode("a").id
        let record = try catalog.catalog.write {
            try $0.truncate(inode, to: 10, baseSize: 10, extents: RangeSet(0..<5), mark: nil, settle: 0)
        }
        #expect(record.size == 10 && record.baseSize == 10)
        #expect(try catalog.inode("a").extents == RangeSet(0..<5))
        #expect(try catalog.pendingNames() == ["a"])
    }

    @Test func aWriteTakesSetIdBitsAway() throws {
        let inode = try catalog.create("a")
        _ = try catalog.catalog.write {
            try $0.setAttributes(inode.id, to: AttributeChange(mode: 0o6755), settle: 0)
        }
        _ = try catalog.catalog.write {
            try $0.truncate(inode.id, to: 0, baseSize: 0, extents: nil, mark: nil, settle: 0)
        }
        #expect(try catalog.inode("a").mode == 0o6755)
        _ = try catalog.catalog.write {
            try $0.truncate(
                inode.id, to: 0, baseSize: 0, extents: nil, mark: nil, settle: 0, killsPrivileges: true)
        }
        #expect(try catalog.inode("a").mode == 0o755)
    }

    @Test func extentsComeBackAsTheyWent() throws {
        try catalog.list([remote("A", "a", size: Item.largestSize)])
        let inode = try catalog.inode("a").id
        var many = RangeSet<Int64>()
        for number: Int64 in 0..<500 { many.insert(contentsOf: number * 1_000..<number * 1_001 + 1) }
        let far: Int64 = 1 << 40
        var scattered = RangeSet<Int64>(0..<255)
        scattered.insert(contentsOf: 256..<65_535)
        scattered.insert(contentsOf: far..<far + 1)
        let sets: [RangeSet<Int64>?] = [
            nil, RangeSet(), RangeSet(0..<1), RangeSet(0..<Int64.max), RangeSet(Int64.max - 1..<Int64.max),
            scattered, many,
        ]
        for extents in sets {
            try catalog.catalog.write {
                _ = try $0.truncate(inode, to: .max, baseSize: .max, extents: extents, mark: nil, settle: 0)
            }
            #expect(try catalog.inode("a").extents == extents)
        }
    }

    @Test func theBytesThatAreHereAreCounted() throws {
        try catalog.list([remote("A", "a", size: 100)])
        let inode = try catalog.inode("a").id
        #expect(try catalog.inode("a").bytesPresent == 0)
        _ = try catalog.catalog.write {
            try $0.recordExtents(inode, generation: 1, extents: RangeSet([0..<10, 50..<60]))
        }
        #expect(try catalog.inode("a").bytesPresent == 20)
        _ = try catalog.catalog.write { try $0.recordExtents(inode, generation: 1, extents: nil) }
        #expect(try catalog.inode("a").bytesPresent == 100)
        // Grown past what the provider has: the new bytes are here.
        _ = try catalog.catalog.write {
            try $0.truncate(inode, to: 130, baseSize: 100, extents: RangeSet(0..<10), mark: nil, settle: 0)
        }
        #expect(try catalog.inode("a").bytesPresent == 40)
    }

    private func beginsToWrite(_ inode: InodeID) throws {
        try catalog.catalog.write { writer in
            let record = try writer.inode(inode)
            try writer.beginWriting(inode, generation: record.generation, mark: .modified)
            try writer.recordWritten(inode, size: 1, modified: .now, mark: .modified, settle: nil)
        }
    }

    /// Whatever else happens to it: it is sent when its program has closed it.
    @Test(arguments: [
        "name taken", "name given up", "name taken at the upload", "gone from the store", "replaced there",
    ])
    func whatIsBeingWrittenIsNotReady(event: String) throws {
        let isKnown = event.hasPrefix("gone") || event.hasPrefix("replaced")
        let inode = isKnown ? try catalog.document("a", "A") : try catalog.create("a")
        try beginsToWrite(inode.id)
        let id = try #require(try catalog.item(of: inode.id)?.id)
        switch event {
        case "name taken": try catalog.list([remote("B", "a")])
        case "name given up":
            try catalog.catalog.write { try $0.giveWay(id, to: remote("B", "a"), defaults: catalog.defaults) }
        case "name taken at the upload":
            _ = try catalog.catalog.write { try $0.keepBoth(id, current: remote("B", "a"), defaults: catalog.defaults) }
        case "gone from the store": try catalog.list([])
        default:
            let current = remote("A", "a", content: "v2")
            _ = try catalog.catalog.write { try $0.keepBoth(id, current: current, defaults: catalog.defaults) }
        }
        #expect(try catalog.item(of: inode.id)?.readyAt == .farFuture)
        #expect(try catalog.item(of: inode.id)?.contentRevision != 0 || event.hasPrefix("replaced"))
        try catalog.catalog.write { try $0.endWriting(inode.id, settle: 0, defaults: catalog.defaults) }
        #expect(try catalog.item(of: inode.id)?.readyAt != .farFuture)
        #expect(try catalog.catalog.read { try $0.pending(at: .now, limit: 9) }.map(\.item.inode).contains(inode.id))
    }

    /// Nor does another name make it ready, also where only the file tells what is written (passthrough).
    @Test(arguments: ["c", "b", "b and back", "exchanged with b"])
    func anotherNameMakesWhatIsBeingWrittenNotReady(name: String) throws {
        let other = try catalog.document("b", "B").id
        _ = try catalog.catalog.write { try $0.recordExtents(other, generation: 1, extents: nil) }
        let inode = try catalog.create("a").id
        let mark = WritingMark.maybeModified(BackingStamp(size: 9, modified: .now, changed: .now))
        try catalog.catalog.write { writer in
            try writer.beginWriting(inode, generation: 1, mark: mark)
            try writer.recordWritten(inode, size: 9, modified: .now, mark: mark, settle: nil)
            switch name {
            case "exchanged with b": try writer.exchange("a", in: .root, with: "b", in: .root, settle: 0)
            default:
                _ = try writer.rename(
                    "a", in: .root, to: Filename(String(name.prefix(1))), in: .root, noReplace: false, settle: 0)
            }
            if name == "b and back" {
                _ = try writer.rename("b", in: .root, to: "a", in: .root, noReplace: false, settle: 0)
            }
        }
        #expect(try catalog.item(of: inode)?.readyAt == .farFuture)
        try catalog.catalog.write { try $0.endWriting(inode, settle: 0, defaults: catalog.defaults) }
        #expect(try catalog.item(of: inode)?.readyAt != .farFuture)
    }

    /// A folder was deleted here, and the store tells of something in it that may have been made from here, without a reply.
    @Test func whatMayBeOursDoesNotBringADeletedFolderBack() throws {
        let folder = try catalog.folder("f", "F").id
        try catalog.catalog.write { try $0.becomesListed(folder) }
        let made = try catalog.create("a", in: folder)
        let id = try #require(try catalog.item(of: made.id)?.id)
        try catalog.catalog.write { try $0.recordSending(id, SentContent(hash: [1], size: 10)) }
        try catalog.unlink("a", in: folder)
        _ = try catalog.catalog.write { try $0.removeFolder("f", in: .root, settle: 0) }
        let reported = [remote("A", "a", in: "F"), remote("B", "b", in: "F")]
        for (item, expected) in zip(reported, [PendingItem.RemoteChildren.leaving, .new]) {
            _ = try catalog.catalog.write {
                try $0.mergeChanges(
                    updated: [item], deleted: [], showing: [item.identifier], defaults: catalog.defaults)
            }
            let pending = try catalog.catalog.read { try $0.pending(at: .now, limit: 9) }
            #expect(pending.first { $0.item.kind.isFolder }?.remoteChildren == expected)
            // It was not made from here.
            if let lost = try catalog.catalog.read({ try $0.item(id) }), let place = lost.attempted {
                try catalog.catalog.write { try $0.forgetAttempt(id, at: place, defaults: catalog.defaults) }
            }
        }
    }
}
