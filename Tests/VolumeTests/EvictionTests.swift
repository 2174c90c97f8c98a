import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import SyncEngine
import Testing
import Trees
import Volume

@Suite struct EvictionTests {
    private let test: TestVolume

    init() throws { test = try TestVolume(settle: 60) }

    private func evict(_ path: String) async throws -> Int64 {
        try test.engine.evict(try await test.lookUp(path).attributes.record.id)
    }

    private func refused(_ path: String) async -> String? {
        do {
            _ = try await evict(path)
            return nil
        } catch {
            return "\(error)"
        }
    }

    private func isDownloaded(_ path: String) async throws -> Bool {
        try await test.lookUp(path).attributes.record.extents == nil
    }

    @Test func anUnusedDocumentBecomesAPlaceholder() async throws {
        try test.remote.put("a", "text")
        let old = try await test.lookUp("a")
        #expect(try await test.contents("a") == "text")
        #expect(
            try await eventually { try test.catalog.read { try $0.child(of: .root, named: "a") }?.extents == nil })
        #expect(try await evict("a") == 4)
        let new = try await test.lookUp("a")
        #expect(new.node != old.node)
        #expect(new.attributes.record.id == old.attributes.record.id)
        #expect(new.attributes.record.size == 4)
        #expect(new.attributes.record.extents == RangeSet())
        #expect(new.attributes.blocks == 1)
        #expect(new.attributes.record.modified == old.attributes.record.modified)
        #expect(test.kernel.events.contains(.contents(old.node)))
        #expect(test.store.status(GenerationID(inode: old.attributes.record.id.rawValue, number: 1)) == nil)
        #expect(try test.pendingNames() == [])
        #expect(try await test.contents("a") == "text")
        #expect(test.remote.calls(of: .startProvidingItem).count == 2)
    }

    @Test func anOpenDocumentStays() async throws {
        try test.remote.put("a", "text")
        let opened = try await test.open("a")
        _ = try await test.read(opened.handle)
        #expect(await refused("a")?.contains("open") == true)
        #expect(try await test.read(opened.handle) == Array("text".utf8))
        test.volume.close(opened.handle)
        #expect(await refused("a") == nil)
    }

    @Test func theOnlyCopyStays() async throws {
        try await test.save("new", "work")
        #expect(await refused("new")?.contains("not in the store") == true)
        try test.remote.put("a", "text")
        try await test.refresh()
        let opened = try await test.open("a", O_RDWR)
        _ = try await test.read(opened.handle)
        try test.write(opened.handle, "TEXT")
        try test.close(opened.handle)
        #expect(await refused("a")?.contains("not in the store") == true)
        #expect(try await test.contents("a") == "TEXT")
        #expect(try await test.sync().isEmpty)
        #expect(await refused("a") == nil)
        #expect(await refused("new") == nil)
        #expect(try await test.contents("a") == "TEXT")
        #expect(try await test.contents("new") == "work")
    }

    @Test func aMappingThatOutlivedItsCloseKeepsTheBytes() async throws {
        try test.remote.put("a", "text")
        #expect(try await test.contents("a") == "text")
        #expect(
            try await eventually { try test.catalog.read { try $0.child(of: .root, named: "a") }?.extents == nil })
        let lookup = try await test.lookUp("a")
        let inode = lookup.attributes.record.id.rawValue
        let path = "\(test.directory)/content/storage/0\(String(inode, radix: 16))/\(inode).1"
        let descriptor = open(path, O_RDWR)
        try #require(descriptor >= 0)
        let mapping = mmap(nil, 4, PROT_READ, MAP_SHARED, descriptor, 0)
        close(descriptor)
        #expect(await refused("a")?.contains("mapped") == true)
        #expect(try await isDownloaded("a"))
        munmap(mapping, 4)
        #expect(await refused("a") == nil)
    }

    @Test func aPinnedDocumentStays() async throws {
        try test.remote.put("a", "text")
        #expect(try await test.contents("a") == "text")
        #expect(
            try await eventually { try test.catalog.read { try $0.child(of: .root, named: "a") }?.extents == nil })
        let inode = try await test.lookUp("a").attributes.record.id
        try test.catalog.write { writer in
            var item = try writer.item(of: inode)!
            item.isPinned = true
            try writer.update(item)
        }
        #expect(await refused("a")?.contains("pinned") == true)
        #expect(try await isDownloaded("a"))
    }

    /// No store has it: it could not come again.
    @Test func whatLivesOnThisMachineOnlyStays() async throws {
        try await test.save("a~", "text")
        #expect(await refused("a~")?.contains("this machine") == true)
        #expect(try await test.contents("a~") == "text")
    }

    @Test func foldersHaveNothingToEvict() async throws {
        try test.remote.put("f/a", "text")
        #expect(try await evict("f") == 0)
        #expect(try await test.contents("f/a") == "text")
    }

    @Test func aWholeDocumentIsDownloaded() async throws {
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try test.remote.put("a", bytes)
        let lookup = try await test.lookUp("a")
        #expect(try await test.engine.download(lookup.attributes.record.id) == 100_000)
        #expect(try await test.engine.download(lookup.attributes.record.id) == 0)
        test.remote.forgetCalls()
        let opened = try await test.open("a")
        #expect(try await test.read(opened.handle) == bytes)
        test.volume.close(opened.handle)
        #expect(test.remote.calls(of: .startProvidingItem).isEmpty)
    }
}
