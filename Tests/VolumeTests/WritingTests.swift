import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import SyncEngine
import Synchronization
import Testing
import Trees

@testable import Volume

@Suite struct WritingTests {
    /// Nothing is sent unless a test says so.
    private let test: TestVolume
    private let long = String(repeating: "0123456789", count: 2_000)

    init() throws { test = try TestVolume(settle: 60) }

    @Test func whatWasFlushedIsPending() async throws {
        let (lookup, opened) = try await test.create("a")
        try test.write(opened.handle, "hello")
        try test.write(opened.handle, " world", at: 5)
        try test.volume.flush(opened.handle)
        let (inode, item) = try test.catalog.read { reader in
            let inode = try reader.inode(lookup.attributes.record.id)
            return (inode, try reader.item(of: inode.id))
        }
        #expect(inode.size == 11)
        #expect(item?.isModified == true)
        #expect(try test.durably { try $0.hasPending() })
        test.volume.close(opened.handle)
        test.volume.endWritingNow()
        #expect(try test.durably { try $0.inodesBeingWritten() }.isEmpty)
        #expect(try await test.contents("a") == "hello world")
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("hello world".utf8))
        #expect(test.remote.calls(of: .createItem).count == 1)
        #expect(test.remote.calls(of: .itemChanged).isEmpty)
    }

    /// Nearly every editor syncs what it saves before it closes it: that is not to take longer than a close alone.
    @Test func aSyncedDocumentIsSentHalfASecondAfterItsLastChange() async throws {
        let test = try TestVolume(settle: SyncTimes().settle, settleAfterSync: SyncTimes().settleAfterSync)
        func readyAt() throws -> FileTime? {
            try test.durably { reader in
                try reader.child(of: .root, named: "a").flatMap { try reader.item(of: $0.id)?.readyAt }
            }
        }
        let (_, opened) = try await test.create("a")
        try test.write(opened.handle, "hello")
        try test.volume.synchronize(opened.handle)
        let first = try #require(try readyAt())
        #expect(first <= FileTime.now.adding(seconds: 0.5))
        // A further change begins the wait again.
        try test.write(opened.handle, " world", at: 5)
        #expect(test.volume.isBeingWritten(try await test.lookUp("a").attributes.record.id))
        try test.volume.synchronize(opened.handle)
        let second = try #require(try readyAt())
        #expect(second > first && second <= FileTime.now.adding(seconds: 0.5))
        try test.close(opened.handle)
        #expect(try #require(try readyAt()) <= FileTime.now.adding(seconds: 0.5))
    }

    @Test func anEditIsOneItemChanged() async throws {
        try test.remote.put("a", "old")
        let opened = try await test.open("a", O_WRONLY)
        try test.write(opened.handle, "NEW!")
        try test.volume.flush(opened.handle)
        try test.volume.flush(opened.handle)
        test.volume.close(opened.handle)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("NEW!".utf8))
        #expect(test.remote.calls(of: .itemChanged).count == 1)
        #expect(test.remote.calls(of: .createItem).isEmpty)
        #expect(test.remote.calls(of: .deleteItem).isEmpty)
    }

    @Test func openForWritingAloneLeavesNothingPending() async throws {
        try test.remote.put("a", "text")
        let opened = try await test.open("a", O_RDWR)
        #expect(try test.durably { try $0.inodesBeingWritten() }.count == 1)
        #expect(try await test.read(opened.handle) == Array("text".utf8))
        try test.close(opened.handle)
        #expect(try test.pendingNames() == [])
        #expect(try test.durably { try $0.inodesBeingWritten() }.isEmpty)
    }

    @Test func truncatingDownloadsNothing() async throws {
        try test.remote.put("a", long)
        let opened = try await test.open("a", O_WRONLY | O_TRUNC)
        #expect(try test.volume.attributes(of: try await test.lookUp("a").node).record.size == 0)
        try test.write(opened.handle, "short")
        try test.close(opened.handle)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("short".utf8))
        #expect(test.remote.calls(of: .startProvidingItem).isEmpty)
    }

    @Test func truncatingToNothingIsAChange() async throws {
        try test.remote.put("a", "text")
        let opened = try await test.open("a", O_WRONLY | O_TRUNC)
        try test.close(opened.handle)
        #expect(try test.pendingNames() == ["a"])
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == [])
    }

    @Test func aWriteIntoAPlaceholderIsCompletedBeforeItIsSent() async throws {
        try test.remote.put("a", long)
        let opened = try await test.open("a", O_WRONLY)
        try test.write(opened.handle, "XYZ", at: 5_000)
        try test.close(opened.handle)
        #expect(test.remote.calls(of: .startProvidingItem).isEmpty)
        #expect(try await test.sync().isEmpty)
        var expected = Array(long.utf8)
        expected.replaceSubrange(5_000..<5_003, with: Array("XYZ".utf8))
        #expect(test.remote.read("a") == expected)
        #expect(try await test.contents("a") == String(decoding: expected, as: UTF8.self))
    }

    @Test func growingPastTheEndLeavesAHole() async throws {
        try test.remote.put("a", "ab")
        let opened = try await test.open("a", O_RDWR)
        try test.write(opened.handle, "z", at: 6)
        #expect(try await test.read(opened.handle) == [0x61, 0x62, 0, 0, 0, 0, 0x7a])
        try test.close(opened.handle)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == [0x61, 0x62, 0, 0, 0, 0, 0x7a])
    }

    @Test func truncateCutsAndGrowsWithZeros() async throws {
        try test.remote.put("a", "abcdef")
        let node = try await test.lookUp("a").node
        func truncate(_ size: Int64) throws -> Int64 {
            try test.volume.setAttributes(node, to: AttributeRequest(attributes: AttributeChange(), size: size))
                .record.size
        }
        #expect(try truncate(3) == 3)
        #expect(try truncate(5) == 5)
        #expect(await errnoOf { _ = try truncate(-1) } == EINVAL)
        #expect(try test.pendingNames() == ["a"])
        #expect(try await test.contents("a").utf8.elementsEqual([0x61, 0x62, 0x63, 0, 0]))
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == [0x61, 0x62, 0x63, 0, 0])
    }

    @Test func attributesAreAheadOfTheCatalogWhileWriting() async throws {
        try test.remote.put("a", "ab")
        let node = try await test.lookUp("a").node
        let opened = try test.volume.open(node, flags: O_WRONLY)
        let before = try test.volume.attributes(of: node)
        #expect(!before.isStable)
        try test.write(opened.handle, "0123456789")
        let during = try test.volume.attributes(of: node)
        #expect(during.record.size == 10)
        #expect(during.record.modified > before.record.modified)
        try test.volume.flush(opened.handle)
        #expect(try test.volume.attributes(of: node).record.size == 10)
        test.kernel.forgetEvents()
        test.volume.close(opened.handle)
        let after = try test.volume.attributes(of: node)
        #expect(after.isStable && after.record.size == 10)
        // What the kernel was told meanwhile was not for keeping.
        #expect(test.kernel.events.contains(.attributes(node)))
    }

    @Test func aPlaceholderHasABlock() async throws {
        try test.remote.put("a", long)
        try test.remote.put("empty", "")
        #expect(try await test.lookUp("a").attributes.blocks == 1)
        #expect(try await test.lookUp("empty").attributes.blocks == 0)
        #expect(try test.volume.attributes(of: .root).blocks == 0)
        _ = try await test.contents("a")
        #expect(try await test.lookUp("a").attributes.blocks == (20_000 + 511) / 512)
    }

    @Test func anUnlinkedDocumentLivesAsLongAsItIsOpen() async throws {
        try test.remote.put("a", "text")
        #expect(try await test.contents("a") == "text")
        let lookup = try await test.lookUp("a")
        let opened = try test.volume.open(lookup.node, flags: O_RDWR)
        try await test.answer { try test.volume.unlink("a", in: .root) }
        #expect(try await test.find("a") == nil)
        #expect(try await test.read(opened.handle) == Array("text".utf8))
        try test.write(opened.handle, "TEXT")
        #expect(try await test.read(opened.handle) == Array("TEXT".utf8))
        #expect(try test.volume.attributes(of: lookup.node).record.linkCount == 0)
        let inode = lookup.attributes.record.id
        try test.close(opened.handle)
        #expect(try test.catalog.read { try $0.inodeIfPresent(inode) } != nil)
        test.volume.forget(lookup.node, count: 100)
        #expect(try test.catalog.read { try $0.inodeIfPresent(inode) } == nil)
        #expect(test.store.status(.init(inode: inode.rawValue, number: 1)) == nil)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.snapshot().isEmpty)
    }

    @Test func aSavedDocumentIsChangedNotReplaced() async throws {
        let item = try test.remote.put("doc", "one")
        let old = try await test.open("doc")
        #expect(try await test.read(old.handle) == Array("one".utf8))
        try await test.save("doc.tmp", "two")
        try await test.answer { try test.volume.rename("doc.tmp", in: .root, to: "doc", in: .root, noReplace: false) }
        #expect(try await test.read(old.handle) == Array("one".utf8))
        #expect(try await test.contents("doc") == "two")
        test.volume.close(old.handle)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.snapshot() == ["doc": .document(Array("two".utf8))])
        #expect(test.remote.item(at: "doc")?.identifier == item.identifier)
        #expect(test.remote.calls(of: .itemChanged).count == 1)
        #expect(test.remote.calls(of: .deleteItem).isEmpty)
    }

    @Test func fsyncMakesItPendingToo() async throws {
        let (_, opened) = try await test.create("a")
        try test.write(opened.handle, "hello")
        try test.volume.synchronize(opened.handle)
        let row = try test.durably { try $0.child(of: .root, named: "a") }
        #expect(row?.size == 5)
        #expect(try test.durably { try $0.hasPending() })
        try test.close(opened.handle)
        try test.volume.synchronizeCatalog()
    }

    /// An fsync made it ready; what is written after it is half of something again.
    @Test func whatIsWrittenAfterAnFsyncIsNotSentHalf() async throws {
        try test.remote.put("a", "old")
        let handle = try await test.open("a", O_RDWR | O_TRUNC).handle
        try test.write(handle, "first")
        try test.volume.synchronize(handle)
        try test.write(handle, " and sec", at: 5)
        try await test.save("b", "other")
        test.engine.start()
        try test.catalog.write { try $0.settleNow(retrying: true) }
        test.engine.changed()
        #expect(try await eventually { test.remote.read("b") != nil })
        #expect(test.remote.read("a") == Array("old".utf8))
        try test.write(handle, "ond", at: 13)
        try test.close(handle)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("first and second".utf8))
    }

    @Test func handlesAreChecked() async throws {
        try test.remote.put("a", "text")
        let opened = try await test.open("a")
        #expect(await errnoOf { try test.write(opened.handle, "no") } == EBADF)
        test.volume.close(opened.handle)
        #expect(await errnoOf { _ = try await test.read(opened.handle) } == EBADF)
        #expect(await errnoOf { try test.volume.synchronize(opened.handle) } == EBADF)
        // Closing twice is no harm.
        test.volume.close(opened.handle)
    }

    @Test func aDateSetWhileWritingStays() async throws {
        let (lookup, opened) = try await test.create("a")
        try test.write(opened.handle, "hello")
        let date = FileTime(seconds: 1_234_567, nanoseconds: 89)
        _ = try test.volume.setAttributes(
            lookup.node, to: AttributeRequest(attributes: AttributeChange(modified: date), size: nil))
        try test.close(opened.handle)
        #expect(try test.volume.attributes(of: lookup.node).record.modified == date)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.item(at: "a")?.contentModificationDate == date)
    }

    @Test func twoWritersAreOneChange() async throws {
        try test.remote.put("a", "....")
        let first = try await test.open("a", O_WRONLY)
        let second = try await test.open("a", O_WRONLY)
        try test.write(first.handle, "1", at: 0)
        try test.close(first.handle)
        // The other one is still at work.
        #expect(try test.durably { try $0.inodesBeingWritten() }.count == 1)
        try test.write(second.handle, "2", at: 1)
        try test.close(second.handle)
        #expect(try test.durably { try $0.inodesBeingWritten() }.isEmpty)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("12..".utf8))
    }

    private final class Progress: Sendable {
        let written = Atomic<Int64>(0)
        let isOver = Atomic<Bool>(false)
    }

    /// A stat that came between a write and its recording showed the size from before both: the kernel cut its pages to
    /// that, and other programs went on with what was left.
    @Test func theSizeNeverGoesBackWhileItIsRecorded() async throws {
        let (lookup, opened) = try await test.create("a")
        let (volume, node, handle) = (test.volume, lookup.node, opened.handle)
        let progress = Progress()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { progress.isOver.store(true, ordering: .releasing) }
                for size in 1...400 {
                    try [UInt8(1)].withUnsafeBytes { try volume.write(handle, $0, at: Int64(size) - 1) }
                    progress.written.store(Int64(size), ordering: .releasing)
                    try volume.flush(handle)
                }
            }
            group.addTask {
                while !progress.isOver.load(ordering: .acquiring) {
                    let least = progress.written.load(ordering: .acquiring)
                    let shown = try volume.attributes(of: node).record.size
                    #expect(shown >= least)
                    if shown < least { return }
                }
            }
            try await group.waitForAll()
        }
        volume.close(handle)
    }

    /// The same, without a race: the row is from before the write, and the write has been recorded since.
    @Test func aRowFromBeforeAWriteIsNotWhatIsShown() async throws {
        let (lookup, opened) = try await test.create("a")
        let row = try test.catalog.read { try $0.inode(lookup.attributes.record.id) }
        try test.write(opened.handle, "text")
        try test.volume.flush(opened.handle)
        #expect(test.volume.attributes(row, try test.volume.node(lookup.node)).record.size == 4)
        test.volume.close(opened.handle)
    }
}
