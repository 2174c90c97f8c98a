import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import SyncEngine
import Testing
import Trees
import Volume

/// The store deletes much at once: what a program sees, and what may happen to it then.
@Suite struct DeletionHoldTests {
    private let test: TestVolume
    private static let count = 40

    /// `f/doc0` … in a folder, the first half of them here; `other` beside it.
    init() async throws {
        test = try TestVolume()
        for index in 0..<Self.count { try test.remote.put("f/doc\(index)", "text \(index)") }
        try test.remote.put("other", "other")
        for index in 0..<Self.count / 2 { _ = try await test.contents("f/doc\(index)") }
        for index in Self.count / 2..<Self.count { _ = try await test.lookUp("f/doc\(index)") }
        _ = try await test.contents("other")
    }

    private func held() throws -> HeldDeletions? { try test.catalog.read { try $0.heldDeletions() } }

    private var events: [SyncEvent] {
        test.engine.reports.log.listen(last: 1_000).now(most: 1_000).events
    }

    private func deleteThere() async throws {
        try test.remote.remove("f")
        try await test.refresh()
        #expect(try held()?.items == Self.count + 1)
        // (That bytes are here is written down a while after they came.)
        #expect(try await eventually { try held()?.incomplete == Self.count / 2 })
    }

    private func names(_ folder: String = "f") async throws -> Int {
        let inode = try await test.lookUp(folder).attributes.record.id
        return try test.catalog.read { try $0.children(of: inode, after: 0, limit: 1_000) }.count
    }

    @Test func itStaysAsItWas() async throws {
        try await deleteThere()
        #expect(try held()?.incomplete == Self.count / 2)
        #expect(try await names() == Self.count)
        #expect(try await test.contents("f/doc3") == "text 3")
        #expect(try test.pendingNames() == [])
        let event = try #require(events.first { $0.kind == .deletionsHeld })
        #expect(event.message?.contains("\(Self.count + 1) items") == true)
    }

    /// Nobody has its bytes any more.
    @Test func whatIsNotHereSaysSo() async throws {
        try await deleteThere()
        #expect(await errnoOf { _ = try await test.contents("f/doc30") } == ENOENT)
        #expect(try held()?.items == Self.count + 1)
        let inode = try await test.lookUp("f/doc30").attributes.record.id
        #expect(test.engine.downloadFailures.last(of: inode)?.contains("hydrant resolve") == true)
        // The store has it again.
        for index in 0..<Self.count { try test.remote.put("f/doc\(index)", "text \(index)") }
        try await test.refresh()
        try await test.refresh(test.lookUp("f").attributes.record.id)
        #expect(try await test.contents("f/doc30") == "text 30")
        #expect(try held() == nil)
    }

    @Test func nothingOfItIsEvicted() async throws {
        try await deleteThere()
        let inode = try await test.lookUp("f/doc3").attributes.record.id
        #expect(await errnoOf { _ = try test.engine.evict(inode) } == EBUSY)
        #expect(try await test.contents("f/doc3") == "text 3")
    }

    @Test func theRestGoesOnAsBefore() async throws {
        try await deleteThere()
        try test.remote.put("other", "changed there")
        try test.remote.put("new", "new there")
        try await test.refresh()
        #expect(try await test.contents("other") == "changed there")
        #expect(try await test.contents("new") == "new there")
        try await test.save("mine", "new here")
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("mine") == Array("new here".utf8))
        #expect(try held()?.items == Self.count + 1)
    }

    @Test func itOutlivesAKilledDaemon() async throws {
        try await deleteThere()
        let next = try await test.killed()
        next.engine.start()
        #expect(try await next.engine.sync(timeout: 10).isEmpty)
        #expect(try next.catalog.read { try $0.heldDeletions() }?.items == Self.count + 1)
        #expect(try await next.contents("f/doc3") == "text 3")
        await next.engine.stop()
    }

    // MARK: Resolved

    @Test func theirsCarriesItOut() async throws {
        try await deleteThere()
        let (items, incomplete) = try await test.engine.resolveDeletions(within: .root, keeping: .theirs)
        #expect(items == Self.count + 1 && incomplete == 0)
        #expect(try await test.find("f") == nil)
        #expect(try held() == nil)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.snapshot() == ["other": .document(Array("other".utf8))])
    }

    @Test func minePutsBackWhatIsHere() async throws {
        try await deleteThere()
        let (items, incomplete) = try await test.engine.resolveDeletions(within: .root, keeping: .mine)
        #expect(items == Self.count / 2 + 1 && incomplete == Self.count / 2)
        #expect(try await test.sync().isEmpty)
        let stored = test.remote.snapshot()
        #expect(stored.count == Self.count / 2 + 2)
        for index in 0..<Self.count / 2 {
            #expect(stored["f/doc\(index)"] == .document(Array("text \(index)".utf8)))
        }
        #expect(try held()?.items == Self.count / 2)
        // And the rest goes.
        _ = try await test.engine.resolveDeletions(within: .root, keeping: .theirs)
        #expect(try held() == nil)
        #expect(try await names() == Self.count / 2)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.snapshot() == stored)
    }

    /// What is changed meanwhile is somebody's work.
    @Test func whatIsChangedIsMadeAnew() async throws {
        try await deleteThere()
        let opened = try await test.open("f/doc3", O_WRONLY | O_TRUNC)
        try test.write(opened.handle, "changed")
        try test.close(opened.handle)
        #expect(try await test.sync().isEmpty)
        #expect(
            test.remote.snapshot() == [
                "other": .document(Array("other".utf8)), "f": .folder, "f/doc3": .document(Array("changed".utf8)),
            ])
        // The folder and the document are not held any more; the rest is.
        #expect(try held()?.items == Self.count - 1)
        _ = try await test.engine.resolveDeletions(within: .root, keeping: .theirs)
        #expect(try await names() == 1)
        #expect(try await test.contents("f/doc3") == "changed")
    }

    @Test func whatIsMadeInItBringsTheFolderBack() async throws {
        try await deleteThere()
        let folder = try await test.lookUp("f").node
        let (_, opened) = try await test.create("new", in: folder)
        try test.write(opened.handle, "new")
        try test.close(opened.handle)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("f/new") == Array("new".utf8))
        #expect(try held()?.items == Self.count)
    }

    @Test func whatIsRemovedHereIsGone() async throws {
        try await deleteThere()
        let folder = try await test.lookUp("f").node
        try await test.answer { try test.volume.unlink("doc3", in: folder) }
        #expect(try await test.sync().isEmpty)
        #expect(try held()?.items == Self.count)
        #expect(try await test.find("f/doc3") == nil)
    }

    // MARK: It comes back

    /// The disk is plugged in again.
    @Test func itIsHeldNoMoreWhenTheStoreHasItAgain() async throws {
        test.engine.start()
        try test.remote.remove("f")
        #expect(try await eventually { try held()?.items == Self.count + 1 })
        for index in 0..<Self.count { try test.remote.put("f/doc\(index)", "text \(index)") }
        #expect(try await eventually { try held() == nil })
        #expect(try await names() == Self.count)
        #expect(try await test.contents("f/doc3") == "text 3")
        #expect(try await test.contents("f/doc30") == "text 30")
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.snapshot().count == Self.count + 2)
        #expect(events.contains { $0.kind == .deletionsReleased })
        await test.engine.stop()
    }
}
