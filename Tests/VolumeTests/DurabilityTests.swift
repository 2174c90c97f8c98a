import FileProvider
import FileProviderTesting
import Glibc
import ItemCatalog
import MountHarness
import SyncEngine
import Synchronization
import Testing
import Trees
import Volume

/// What has to survive a power cut is on the disk before anything is built on it.
@Suite(.timeLimit(.minutes(10))) struct DurabilityTests {
    private let test: TestVolume
    private let recorder: SyncRecorder

    init() throws {
        test = try TestVolume()
        recorder = SyncRecorder(below: test.directory)
    }

    private func isContent(_ path: String) -> Bool { path.hasPrefix("content/storage/") }

    /// One sync of the file and one of the log, once the bytes are written out: at the same time.
    @Test func fsyncSyncsTheBytesWithTheCatalog() async throws {
        let test = try TestVolume(keepsOrder: true)
        let recorder = SyncRecorder(below: test.directory)
        let opened = try await test.create("a").1
        for text in ["text", "more text"] {
            try test.write(opened.handle, text)
            recorder.forget()
            try test.volume.synchronize(opened.handle)
            let order = recorder.synced
            #expect(order.first?.hasPrefix("written:content/storage/") == true, "\(order)")
            #expect(order.filter(isContent).count == 1 && order.filter { $0 == "catalog-wal" }.count == 1, "\(order)")
            #expect(order.count == 3, "\(order)")
        }
        test.volume.close(opened.handle)
    }

    /// Bytes that the catalog names are there: content first.
    @Test func fsyncSyncsTheBytesAndThenTheCatalog() async throws {
        let test = try TestVolume(keepsOrder: false)
        let recorder = SyncRecorder(below: test.directory)
        let opened = try await test.create("a").1
        try test.write(opened.handle, "text")
        recorder.forget()
        try test.volume.synchronize(opened.handle)
        let order = recorder.synced
        let bytes = try #require(order.firstIndex(where: isContent), "\(order)")
        let catalog = try #require(order.lastIndex(of: "catalog-wal"), "\(order)")
        #expect(bytes < catalog, "\(order)")
        test.volume.close(opened.handle)
    }

    /// What another program writes meanwhile is not durable; it is before fsync returns, or nothing is said of it.
    @Test(arguments: [true, false], [true, false])
    func whatIsWrittenDuringAnFsyncIsSyncedToo(_ passthrough: Bool, _ keepsOrder: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60, boot: "one", keepsOrder: keepsOrder)
        let opened = try await test.create("a").1
        let isWritten = Mutex(false)
        let first = (keepsOrder ? "written:" : "") + "content/storage/"
        let recorder = SyncRecorder(below: test.directory) { path in
            guard path.hasPrefix(first), !isWritten.withLock({ exchange(&$0, with: true) }) else { return }
            #expect(throws: Never.self) { try test.write(opened.handle, "second", at: 5) }
        }
        try test.write(opened.handle, "first")
        try test.volume.synchronize(opened.handle)
        #expect(recorder.synced.filter(isContent).count == (keepsOrder ? 1 : 2), "\(recorder.synced)")
        #expect(recorder.synced.last == "catalog-wal", "\(recorder.synced)")
        try test.close(opened.handle)
        let next = try await test.killed(boot: "two")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array("firstsecond".utf8))
    }

    /// A label that the first fsync gives a document is as durable as its bytes: it is what a rescue goes by.
    @Test func whatAnFsyncRecordsIsSyncedWithItsLabel() async throws {
        let test = try TestVolume(keepsOrder: false)
        let recorder = SyncRecorder(below: test.directory)
        try test.remote.put("a", "original")
        #expect(try await test.contents("a") == "original")
        test.engine.makeDownloadsDurable()
        let opened = try await test.open("a", O_RDWR)
        try test.write(opened.handle, "CHANGED!")
        recorder.forget()
        try test.volume.synchronize(opened.handle)
        #expect(recorder.synced.filter(isContent).count == 2, "\(recorder.synced)")
        recorder.forget()
        try test.write(opened.handle, "changed!")
        try test.volume.synchronize(opened.handle)
        #expect(recorder.synced.filter(isContent).count == 1, "\(recorder.synced)")
        test.volume.close(opened.handle)
    }

    @Test func fsyncOfAFolderSyncsTheCatalog() async throws {
        _ = try await test.save("a", "text")
        recorder.forget()
        try test.volume.synchronizeCatalog()
        #expect(recorder.synced == ["catalog-wal"])
    }

    /// As SQLite does with each transaction: a file, then its folder.
    @Test func whatIsDurableIsNotSyncedOnceMore() async throws {
        let opened = try await test.create("a").1
        try test.write(opened.handle, "text")
        try test.volume.synchronize(opened.handle)
        recorder.forget()
        try test.volume.synchronizeCatalog()
        #expect(recorder.synced.isEmpty, "\(recorder.synced)")
        // But what has come since is.
        for name in ["b", "c"] as [Filename] {
            _ = try await test.save(name, "text")
            try test.volume.synchronizeCatalog()
        }
        #expect(recorder.synced == ["catalog-wal", "catalog-wal"])
        test.volume.close(opened.handle)
    }

    /// What is deleted in the store may be all that is left of something that went elsewhere here.
    @Test func whatLedToADeletionIsDurableBeforeTheStoreDeletes() async throws {
        try test.remote.put("a", "text")
        try await test.refresh()
        let gate = Gate()
        test.provider.plan.inject(.hang(gate), into: .deleteItem)
        recorder.forget()
        try await test.answer { try test.volume.unlink("a", in: .root) }
        test.engine.start()
        await gate.waitForArrivals()
        #expect(recorder.synced.contains("catalog-wal"), "\(recorder.synced)")
        gate.open()
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.snapshot().isEmpty)
    }

    /// A range that the catalog names as here is read without asking the store, unless it says that a power loss takes it.
    @Test func downloadedBytesAreDurableBeforeTheCatalogSaysSo() async throws {
        try test.remote.put("a", String(repeating: "0123456789", count: 2_000))
        let opened = try await test.open("a")
        recorder.forget()
        _ = try await test.read(opened.handle)
        let id = try await test.lookUp("a").attributes.record.id
        #expect(try await eventually { try test.durably { try $0.inode(id).extents } == nil })
        // (Those who wait for the bytes do not wait for the disk.)
        #expect(!recorder.synced.contains(where: isContent), "\(recorder.synced)")
        #expect(try test.durably { try $0.undurable(id) } != nil)
        test.engine.makeDownloadsDurable()
        #expect(recorder.synced.contains(where: isContent), "\(recorder.synced)")
        #expect(try test.catalog.read { try $0.undurable(id) } == nil)
        test.volume.close(opened.handle)
    }
}
