import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import MountHarness
import Testing
import Trees

@testable import SyncEngine

/// What is sent from a disk on which there is no room for a second one of it, and that has no shared blocks.
@Suite("Uploads from a small disk", .timeLimit(.minutes(10))) struct UploadRoomTests {
    private static let megabyte = 1_000_000

    private func text(_ letters: String, _ megabytes: Int) -> String {
        String(repeating: letters, count: megabytes * Self.megabyte / letters.utf8.count)
    }

    private func prepared(_ disk: SmallDisk) async throws -> TestEngine {
        let test = try TestEngine(
            stopProviding: 60, cache: CacheLimits(minimumFree: .bytes(0)), directory: disk.path + "/engine")
        try await test.engine.enumerate(.root)
        return test
    }

    @Test("a document too large for a second copy is sent, and nothing is evicted for an impossible copy")
    func noRoomForACopy() async throws {
        let disk = try SmallDisk(megabytes: 24)
        let test = try await prepared(disk)
        try test.remote.put("clean", [UInt8](repeating: 7, count: 2 * Self.megabyte))
        try await test.engine.enumerate(.root)
        _ = try await test.engine.download(try test.inode("clean").id)
        let text = text("0123456789", 13)
        try test.save("a", text)
        test.engine.start()
        #expect(try await test.engine.sync(timeout: 120).isEmpty)
        #expect(test.remote.read("a") == Array(text.utf8))
        #expect(try test.inode("clean").bytesPresent == 2 * Int64(Self.megabyte))
        await test.engine.stop()
    }

    @Test("a clean document is evicted when that makes room for the copy")
    func roomIsMade() async throws {
        let disk = try SmallDisk(megabytes: 32)
        let test = try await prepared(disk)
        try test.remote.put("clean", [UInt8](repeating: 7, count: 10 * Self.megabyte))
        try await test.engine.enumerate(.root)
        _ = try await test.engine.download(try test.inode("clean").id)
        let text = text("0123456789", 10)
        try test.save("a", text)
        test.engine.start()
        #expect(try await test.engine.sync(timeout: 120).isEmpty)
        #expect(test.remote.read("a") == Array(text.utf8))
        #expect(try test.inode("clean").bytesPresent == 0)
        await test.engine.stop()
    }

    @Test("a document changed while its own file is sent is sent again, and never as a mixture")
    func changedMeanwhile() async throws {
        let disk = try SmallDisk(megabytes: 24)
        let test = try await prepared(disk)
        test.plan.bandwidth = Self.megabyte
        try test.save("a", text("old ", 13))
        test.engine.start()
        #expect(try await eventually { test.engine.transfers.now().contains { $0.done > 0 } })
        let text = text("new ", 13)
        try test.write(try test.inode("a").id, text)
        test.plan.bandwidth = nil
        #expect(try await test.engine.sync(timeout: 120).isEmpty)
        #expect(test.remote.read("a") == Array(text.utf8))
        #expect(test.remote.snapshot().keys.sorted() == ["a"])
        // The first attempt has made nothing: what came after it was no change of that.
        #expect(test.remote.calls(of: .itemChanged).isEmpty)
        #expect(try test.item("a").failure == nil)
        await test.engine.stop()
    }
}
