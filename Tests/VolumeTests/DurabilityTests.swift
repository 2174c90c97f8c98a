import FileProvider
import FileProviderTesting
import Glibc
import ItemCatalog
import MountHarness
import SyncEngine
import Testing
import Volume

/// What has to survive a power cut is on the disk before anything is built on it.
@Suite(.timeLimit(.minutes(1))) struct DurabilityTests {
    private let test: TestVolume
    private let recorder: SyncRecorder

    init() throws {
        test = try TestVolume()
        recorder = SyncRecorder(below: test.directory)
    }

    private func isContent(_ path: String) -> Bool { path.hasPrefix("content/storage/") }

    /// Bytes that the catalog names are there: content first.
    @Test func fsyncSyncsTheBytesAndThenTheCatalog() async throws {
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

    @Test func fsyncOfAFolderSyncsTheCatalog() async throws {
        _ = try await test.save("a", "text")
        recorder.forget()
        try test.volume.synchronizeCatalog()
        #expect(recorder.synced == ["catalog-wal"])
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
