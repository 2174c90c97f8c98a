import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import ItemCatalog
import MountHarness
import SyncEngine
import Synchronization
import Testing
import Trees

@testable import Volume

/// A closed document's mark is taken away a moment after the close.
@Suite struct EndingTests {
    private let test: TestVolume

    init() throws { test = try TestVolume(settle: 60) }

    private func marks(_ test: TestVolume? = nil) throws -> [InodeRecord] {
        try (test ?? self.test).durably { try $0.inodesBeingWritten() }
    }

    @Test func byItself() async throws {
        for name in ["a", "b", "c"] as [Filename] {
            let (_, opened) = try await test.create(name)
            try test.write(opened.handle, name.string)
            try test.volume.flush(opened.handle)
            test.volume.close(opened.handle)
        }
        #expect(try await eventually { try marks().isEmpty })
        #expect(try test.pendingNames() == ["a", "b", "c"])
        // Once more: the next one has somebody to see to it as well.
        try await Task.sleep(for: .milliseconds(50))
        let (_, opened) = try await test.create("d")
        test.volume.close(opened.handle)
        #expect(try await eventually { try marks().isEmpty })
    }

    /// The mark of a writer who comes meanwhile is his, and stays.
    @Test(arguments: [false, true]) func aNewWriterKeepsHis(_ writes: Bool) async throws {
        try test.remote.put("a", "old text")
        _ = try await test.contents("a")
        let first = try await test.open("a", O_RDWR).handle
        if writes { try test.write(first, "new") }
        try test.volume.flush(first)
        test.volume.close(first)
        let second = try await test.open("a", O_RDWR).handle
        test.volume.endWritingNow()
        #expect(try marks().count == 1)
        try test.write(second, "NEW TEXT")
        try test.close(second)
        #expect(try marks().isEmpty)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("NEW TEXT".utf8))
    }

    /// A close that is late in looking for a mapping that the writer has left finds the next writer, not a mapping. (Ours:
    /// it took his mark away, and wrote down the size from before what he appended, to which the next open cut the file.)
    @Test func aNewWriterIsNoMapping() async throws {
        let test = try TestVolume(passthrough: true)
        let (made, writer) = try await test.create("a")
        let inode = try #require(test.volume.table.inode(of: made.node))
        try test.write(writer.handle, "text")
        try test.volume.flush(writer.handle)
        test.volume.watchMapping(of: inode, generation: 1)
        try await Task.sleep(for: .milliseconds(50))
        #expect(try marks(test).map(\.id) == [inode])
        try test.write(writer.handle, "text and more")
        try test.close(writer.handle)
        #expect(try await test.contents("a") == "text and more")
    }

    /// Another program does it: as who looks after a catalog by hand.
    private static func run(_ sql: String, _ test: TestVolume) async throws {
        let sqlite = Process()
        sqlite.executableURL = URL(filePath: "/usr/bin/sqlite3", directoryHint: .notDirectory)
        sqlite.arguments = ["-cmd", ".timeout 10000", test.directory + "/catalog", sql]
        let status = try await withCheckedThrowingContinuation { done in
            sqlite.terminationHandler = { done.resume(returning: $0.terminationStatus) }
            do { try sqlite.run() } catch { done.resume(throwing: error) }
        }
        #expect(status == 0)
    }

    /// What a writer did could not be recorded when the document was closed: it is, once it can be, and nothing is cut
    /// off. Other documents do not suffer.
    @Test(arguments: [false, true], [false, true])
    func whatCouldNotBeRecorded(_ isWrittenNext: Bool, _ isTriedBeforeTheClose: Bool) async throws {
        let test = try TestVolume(passthrough: true, settle: isWrittenNext ? 60 : 0.02)
        _ = try await test.save("a", "text")
        let writer = try await test.open("a", O_WRONLY).handle
        try test.write(writer, "text and more")
        try await Self.run(
            "CREATE TRIGGER broken BEFORE UPDATE OF size ON inode WHEN new.size = 13 BEGIN SELECT RAISE(ABORT, 'broken'); END",
            test)
        try test.volume.flush(writer)
        if isTriedBeforeTheClose { test.catalog.settle() }
        test.volume.close(writer)
        test.volume.endWritingNow()
        #expect(try test.catalog.read { try $0.inodesBeingWritten() }.count == 1)
        _ = try await test.save("b", "other")
        try await Self.run("DROP TRIGGER broken", test)
        if isWrittenNext {
            try test.close(try await test.open("a", O_WRONLY).handle)
        } else {
            #expect(try await eventually { try marks(test).isEmpty })
        }
        #expect(try await test.contents("a") == "text and more")
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("text and more".utf8))
    }

    /// A writer through us, beside a reader, ends nothing of a mapping that somebody has had since before.
    @Test(arguments: [false, true]) func anEarlierMappingIsNotForgotten(_ readerGoesFirst: Bool) async throws {
        let test = try TestVolume(passthrough: true, settle: 0.02)
        _ = try await test.save("a", "text")
        let mapper = try await test.open("a", O_RDWR).handle
        let mapping = try test.backing.held()
        test.volume.close(mapper)
        test.backing.pays(from: .max)
        let reader = try await test.open("a")
        #expect(reader.mode == .cached)
        let writer = try await test.open("a", O_RDWR).handle
        try test.write(writer, "TE")
        if readerGoesFirst { test.volume.close(reader.handle) }
        try test.close(writer)
        if !readerGoesFirst { test.volume.close(reader.handle) }
        // Longer than it takes to end a mark.
        try await Task.sleep(for: .milliseconds(100))
        #expect(try marks(test).count == 1)
        #expect(pwrite(mapping, "and more", 8, 4) == 8)
        Glibc.close(mapping)
        #expect(try await eventually { try marks(test).isEmpty })
        #expect(try await test.contents("a") == "TExtand more")
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("TExtand more".utf8))
    }

    /// Nobody waits for the commit that records a close, and nobody sees the state before.
    @Test(arguments: [false, true]) func aCloseShowsBeforeItIsRecorded(passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        try test.remote.put("a", "old")
        #expect(try await test.contents("a") == "old")
        let writer = try await test.open("a", O_RDWR).handle
        let node = try await test.lookUp("a").node
        try test.write(writer, "new and longer")
        try test.volume.flush(writer)
        test.volume.close(writer)
        #expect(try test.volume.attributes(of: node).record.size == 14)
        let shown = try await test.lookUp("a").attributes.record
        #expect(shown.size == 14)
        test.volume.kernelForgets(node, count: 1_000)
        #expect(try await test.lookUp("a").attributes.record.size == 14)
        test.catalog.settle()
        let row = try test.durably { try $0.inode(shown.id) }
        #expect(row.size == 14 && row.modified == shown.modified && row.changed == shown.changed)
    }

    /// A close and a rename label the file, which changes its ctime: that is no change by a writer.
    @Test func aLabelIsNoChange() async throws {
        let test = try TestVolume(passthrough: true, settle: 60)
        try test.remote.put("a", "old text")
        #expect(try await test.contents("a") == "old text")
        let writer = try await test.open("a", O_RDWR).handle
        let inode = try await test.lookUp("a").attributes.record.id
        try test.write(writer, "new text")
        try test.volume.flush(writer)
        test.catalog.settle()
        let recorded = try #require(try test.catalog.read { try $0.item(of: inode) })
        #expect(recorded.contentRevision != 0 && !test.volume.isBeingWritten(inode))
        // The label has the path.
        try await test.answer {
            try test.volume.rename("a", in: .root, to: "b", in: .root, noReplace: false)
        }
        #expect(!test.volume.isBeingWritten(inode))
        test.volume.close(writer)
        test.volume.endWritingNow()
        #expect(try test.catalog.read { try $0.item(of: inode) }?.contentRevision == recorded.contentRevision)
    }

    /// A mapping that outlives the close by a moment only: what it changes is recorded all the same. One that goes without
    /// a change needs no watch.
    @Test(arguments: [false, true]) func aMappingThatEndsSoon(writes: Bool) async throws {
        let test = try TestVolume(passthrough: true, settle: 60)
        let writer = try await test.create("a").1.handle
        try test.write(writer, "some text")
        let mapping = try test.backing.held()
        try test.volume.flush(writer)
        test.volume.close(writer)
        test.catalog.settle()
        let marked = try test.catalog.read { try $0.inodesBeingWritten() }
        #expect(marked.count == 1)
        // (Longer than a step of the file system's clock.)
        try await Task.sleep(for: .milliseconds(5))
        if writes { #expect(pwrite(mapping, "SOME", 4, 0) == 4) }
        Glibc.close(mapping)
        test.volume.endWritingNow()
        #expect(try await eventually { try marks(test).isEmpty })
        let ended = try test.catalog.read { try $0.child(of: .root, named: "a") }
        #expect(try (#require(ended).modified > #require(marked.first).modified) == writes)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array((writes ? "SOME text" : "some text").utf8))
    }

    /// The next writer comes before anybody has asked whether the last one left a mapping, and goes without having one.
    @Test func aMappingOfTheLastWriterIsNotForgotten() async throws {
        let test = try TestVolume(passthrough: true, settle: 60)
        let mapper = try await test.create("a").1.handle
        try test.write(mapper, "text")
        let mapping = try test.backing.held()
        try test.volume.flush(mapper)
        test.volume.close(mapper)
        test.backing.pays(from: .max)
        let reader = try await test.open("a")
        let writer = try await test.open("a", O_RDWR)
        #expect(reader.mode == .cached && writer.mode == .cached)
        try test.close(writer.handle)
        test.volume.close(reader.handle)
        test.volume.endWritingNow()
        try await Task.sleep(for: .milliseconds(100))
        #expect(try test.catalog.read { try $0.inodesBeingWritten() }.count == 1)
        #expect(pwrite(mapping, "TEXT", 4, 0) == 4)
        Glibc.close(mapping)
        #expect(try await eventually { try marks(test).isEmpty })
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("TEXT".utf8))
    }

    /// An open that was to cut the document, and could not.
    @Test(arguments: [false, true]) func anOpenThatFailsLeavesNothing(_ isRead: Bool) async throws {
        let test = try TestVolume(passthrough: true, settle: 0.02)
        let inode = try await test.save("a", "text").attributes.record.id
        #expect(try await test.sync().isEmpty)
        let reader = isRead ? try await test.open("a").handle : nil
        try await Self.run(
            "CREATE TRIGGER broken BEFORE UPDATE OF size ON inode BEGIN SELECT RAISE(ABORT, 'broken'); END", test)
        await #expect(throws: VolumeError.self) { try await test.open("a", O_WRONLY | O_TRUNC) }
        try await Self.run("DROP TRIGGER broken", test)
        #expect(!test.volume.isBeingWritten(inode))
        if let reader { try test.close(reader) }
        #expect(try await eventually { try marks(test).isEmpty })
        #expect(!test.volume.isOpen(inode) && test.backing.registered.isEmpty)
        #expect(try test.pendingNames() == [])
        #expect(try await test.contents("a") == "text")
        // And the next one can.
        let writer = try await test.open("a", O_WRONLY | O_TRUNC).handle
        try test.write(writer, "new")
        try test.close(writer)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("new".utf8))
    }

    /// Of a document of which not all is here only the mark tells that it was written to, so it must be there before the
    /// first byte, whenever the last writer's is taken away.
    @Test func theNextWriterOfAPartialDocumentIsMarkedAnew() async throws {
        try test.remote.put("a", String(repeating: "old ", count: 50_000))
        _ = try await test.lookUp("a")
        let isOver = Atomic(false)
        async let endings: Void = Task.detached { [volume = test.volume] in
            while !isOver.load(ordering: .relaxed) { volume.endWritingNow() }
        }.value
        var unmarked = 0
        for _ in 0..<400 {
            let handle = try await test.open("a", O_WRONLY).handle
            try test.write(handle, "new")
            if try marks().map(\.writing) != [.modified] { unmarked += 1 }
            try test.volume.flush(handle)
            test.volume.close(handle)
        }
        isOver.store(true, ordering: .relaxed)
        await endings
        #expect(unmarked == 0)
    }

    /// What is closed is not being written: what the store has by then is no reason to part it from its document.
    @Test func theStoresNextVersionFindsItClosed() async throws {
        try test.remote.put("a", "old text")
        _ = try await test.contents("a")
        let handle = try await test.open("a", O_RDWR).handle
        try test.write(handle, "mine")
        try test.volume.flush(handle)
        test.volume.close(handle)
        try test.remote.put("a", "theirs, at last")
        try await test.refresh()
        #expect(try marks().isEmpty)
    }
}
