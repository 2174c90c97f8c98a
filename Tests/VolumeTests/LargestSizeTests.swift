import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import ItemCatalog
import SyncEngine
import Testing
import Trees
import Volume

/// Sizes that programs ask for, on a disk that takes them all (tmpfs; so do XFS and Btrfs).
@Suite struct LargestSizeTests {
    private static let largest = Item.largestSize

    private func volume(passthrough: Bool = false, settle: Double = 60) throws -> TestVolume {
        try TestVolume(
            passthrough: passthrough, settle: settle, directory: "/dev/shm/hydrant-volume-\(UUID().uuidString)")
    }

    private func truncate(_ test: TestVolume, _ node: NodeID, _ size: Int64) async -> Int32? {
        await errnoOf {
            _ = try test.volume.setAttributes(node, to: AttributeRequest(attributes: AttributeChange(), size: size))
        }
    }

    @Test func aFileEndsAtTheLargestSizeAsOnADisk() async throws {
        let test = try volume()
        let (lookup, opened) = try await test.create("a")
        let handle = opened.handle
        #expect(await truncate(test, lookup.node, .max) == EFBIG)
        #expect(await truncate(test, lookup.node, Self.largest + 1) == EFBIG)
        #expect(await truncate(test, lookup.node, -1) == EINVAL)
        #expect(await truncate(test, lookup.node, Self.largest) == nil)
        #expect(try test.volume.attributes(of: lookup.node).record.size == Self.largest)

        try test.write(handle, "end", at: Self.largest - 3)
        #expect(await errnoOf { try test.write(handle, "ends", at: Self.largest - 3) } == EFBIG)
        #expect(await errnoOf { try test.write(handle, "x", at: Self.largest) } == EFBIG)
        #expect(await errnoOf { try test.write(handle, "x", at: .max) } == EFBIG)
        #expect(
            await errnoOf {
                try Array("x".utf8).withUnsafeBytes { try test.volume.write(handle, $0, at: 0, appends: true) }
            } == EFBIG)
        #expect(
            await errnoOf { try test.volume.allocate(handle, mode: 0, offset: Self.largest, length: 1) } == EFBIG)
        #expect(
            await errnoOf { try test.volume.allocate(handle, mode: 1, offset: 1, length: Self.largest) } == EFBIG)

        // What is behind the end is what is behind any.
        #expect(try await test.read(handle, Self.largest - 3, 100) == Array("end".utf8))
        for offset in [Self.largest, .max - 50, .max] {
            #expect(try await test.read(handle, offset, 100).isEmpty)
            #expect(await errnoOf { _ = try test.volume.seek(handle, offset: offset, data: true) } == ENXIO)
        }

        let (_, source) = try await test.create("b")
        try test.write(source.handle, "0123456789")
        func copy(to offset: Int64) async throws -> Int {
            try await test.answer {
                try test.volume.copy(from: source.handle, at: 0, to: handle, at: offset, count: 10)
            }
        }
        #expect(try await copy(to: Self.largest - 4) == 4)
        #expect(await errnoOf { _ = try await copy(to: Self.largest) } == EFBIG)
        #expect(await errnoOf { _ = try await copy(to: .max) } == EFBIG)
        #expect(try await test.read(handle, Self.largest - 4, 100) == Array("0123".utf8))
        // (It would be read for years.)
        #expect(await truncate(test, lookup.node, 0) == nil)
        try test.close(source.handle)
        try test.close(handle)
        #expect(try await test.sync().isEmpty)
    }

    /// The kernel writes past us as far as the disk below has it.
    @Test func whatIsWrittenPastUsBreaksNoSumAndIsNotSent() async throws {
        let test = try volume(passthrough: true, settle: 0)
        for name: Filename in ["a", "b"] {
            let (lookup, opened) = try await test.create(name)
            let file = try test.backing.held()
            #expect(pwrite(file, "x", 1, off_t.max - 1) == 1)
            Glibc.close(file)
            try test.close(opened.handle)
            #expect(try test.volume.attributes(of: lookup.node).record.size == .max)
            #expect(try test.volume.attributes(of: lookup.node).blocks < 1_000)
        }
        #expect(try test.catalog.read { try $0.bytesHere() } == 2 * Self.largest)
        _ = try test.volume.statistics()
        // They take what the disk gives them.
        #expect(try test.engine.mount.cacheUse().bytes < 1 << 20)
        test.engine.start()
        #expect(
            try await eventually {
                let failures = try test.catalog.read { try $0.allPending(limit: 10) }.compactMap { $0.failure }
                return failures.count == 2
                    && failures.allSatisfy { $0.code == "unsupported" && $0.message.contains("8 PiB") }
            })
        await test.engine.stop()
        #expect(test.remote.calls(of: .createItem).isEmpty)
    }
}
