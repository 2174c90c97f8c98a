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
}
