import FileProvider
import FileProviderTesting
import Glibc
import ItemCatalog
import SyncEngine
import Testing
import Trees

@testable import Volume

/// utimensat(2) of a document whose changes are not recorded yet: it is recorded with them, and not lost before.
@Suite struct SetDatesTests {
    enum Moment: CaseIterable { case written, flushed, closed, recorded }

    private static let date = FileTime(seconds: 1_600_000_000, nanoseconds: 123)

    private func dated(_ test: TestVolume, _ moment: Moment) async throws -> Lookup {
        let (lookup, opened) = try await test.create("a")
        try test.write(opened.handle, "some text")
        if moment != .written { try test.volume.flush(opened.handle) }
        if moment == .closed || moment == .recorded { test.volume.close(opened.handle) }
        if moment == .recorded { test.volume.endWritingNow() }
        let change = AttributeChange(
            mode: lookup.attributes.record.mode, accessed: FileTime(seconds: 5), modified: Self.date)
        let shown = try test.volume.setAttributes(
            lookup.node, to: AttributeRequest(attributes: change, size: nil)
        ).record
        #expect(shown.modified == Self.date && shown.accessed == FileTime(seconds: 5) && shown.size == 9)
        #expect(try test.volume.attributes(of: lookup.node).record.modified == Self.date)
        if moment == .written || moment == .flushed {
            try test.volume.flush(opened.handle)
            test.volume.close(opened.handle)
        }
        return lookup
    }

    @Test(arguments: [false, true], Moment.allCases)
    func theyStay(passthrough: Bool, moment: Moment) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        let lookup = try await dated(test, moment)
        let shown = try test.volume.attributes(of: lookup.node).record
        test.catalog.settle()
        test.volume.endWritingNow()
        let row = try test.durably { try $0.inode(lookup.attributes.record.id) }
        #expect(row.modified == Self.date && row.accessed == FileTime(seconds: 5) && row.size == 9)
        #expect(row.changed == shown.changed)
        #expect(try await test.sync().isEmpty)
        let stored = try await test.remote.enumerateItems(in: .rootContainer, startingAt: nil).items
        #expect(stored.map(\.contentModificationDate) == [Self.date])
        #expect(test.remote.read("a") == Array("some text".utf8))
    }

    @Test(arguments: [false, true], Moment.allCases)
    func aKilledDaemonLosesNone(passthrough: Bool, moment: Moment) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        _ = try await dated(test, moment)
        let next = try await test.killed()
        #expect(try await next.lookUp("a").attributes.record.modified == Self.date)
        #expect(try next.pendingNames() == ["a"])
        #expect(try await next.contents("a") == "some text")
    }

    enum Later: CaseIterable { case write, cut, setLongAgo }

    /// What is written after the date was set gives the document another one, and a date that the catalog takes at once is
    /// not replaced by an earlier one.
    @Test(arguments: [false, true], Later.allCases)
    func aLaterChangeHasTheLastWord(passthrough: Bool, later: Later) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        let (lookup, opened) = try await test.create("a")
        func setDate(_ date: FileTime, mode: UInt32? = nil) throws {
            let change = AttributeChange(mode: mode, modified: date)
            _ = try test.volume.setAttributes(lookup.node, to: AttributeRequest(attributes: change, size: nil))
        }
        try test.write(opened.handle, "some text")
        try setDate(Self.date)
        switch later {
        case .write:
            guard case .passthrough(let id) = opened.mode, let descriptor = test.backing.registered[id] else {
                try test.write(opened.handle, "more text", at: 0)
                break
            }
            #expect(pwrite(descriptor, "more text", 9, 0) == 9)
        case .cut:
            let request = AttributeRequest(attributes: AttributeChange(), size: 4)
            _ = try test.volume.setAttributes(lookup.node, to: request, through: opened.handle)
        case .setLongAgo: try setDate(FileTime(seconds: 77), mode: 0o600)
        }
        let shown = try test.volume.attributes(of: lookup.node).record.modified
        #expect(later == .setLongAgo ? shown == FileTime(seconds: 77) : shown > Self.date)
        try test.close(opened.handle)
        #expect(try test.volume.attributes(of: lookup.node).record.modified == shown)
        #expect(try test.catalog.read { try $0.inode(lookup.attributes.record.id) }.modified == shown)
    }

    /// A program that the kernel lets past us appends between a close of the same file and a date.
    @Test func aDateHidesNoAppend() async throws {
        let test = try TestVolume(passthrough: true, settle: 60)
        let (lookup, opened) = try await test.create("a")
        guard case .passthrough(let id) = opened.mode else { throw VolumeError(EINVAL, "not passed through") }
        let descriptor = try #require(test.backing.registered[id])
        #expect(pwrite(descriptor, "some", 4, 0) == 4)
        try test.volume.flush(opened.handle)
        #expect(pwrite(descriptor, " text", 5, 4) == 5)
        let change = AttributeChange(modified: Self.date)
        _ = try test.volume.setAttributes(lookup.node, to: AttributeRequest(attributes: change, size: nil))
        try test.close(opened.handle)
        let row = try test.catalog.read { try $0.inode(lookup.attributes.record.id) }
        #expect(row.size == 9 && row.modified == Self.date)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("some text".utf8))
    }
}
