import ContentStore
import FileProvider
import Foundation
import Glibc
import ItemCatalog
import MountHarness
import Testing
import Trees

@testable import Volume

/// What is removed and the kernel has let go of goes a moment later, many at once.
@Suite struct ReclaimTests {
    private let test: TestVolume

    init() throws { test = try TestVolume(settle: 60) }

    /// Documents that are removed, and that the kernel still knows.
    private func removed(_ count: Int, size: Int = 4) async throws -> [(node: NodeID, inode: InodeID)] {
        var found: [(node: NodeID, inode: InodeID)] = []
        for index in 0..<count {
            let name = Filename("removed \(index)")
            let (lookup, opened) = try await test.create(name)
            try test.write(opened.handle, String(repeating: "x", count: size))
            try test.close(opened.handle)
            try await test.answer { try test.volume.unlink(name, in: .root) }
            found.append((lookup.node, lookup.attributes.record.id))
        }
        return found
    }

    private func hasRow(_ inode: InodeID) throws -> Bool {
        try test.catalog.read { try $0.inodeIfPresent(inode) } != nil
    }

    private func hasBytes(_ inode: InodeID) -> Bool {
        test.store.status(.init(inode: inode.rawValue, number: 1)) != nil
    }

    private func isThere(_ inode: InodeID) throws -> Bool {
        #expect(try hasRow(inode) == hasBytes(inode))
        return try hasRow(inode)
    }

    @Test func byItself() async throws {
        for _ in 0..<2 {
            let documents = try await removed(5)
            for document in documents { #expect(try isThere(document.inode)) }
            for document in documents { test.volume.kernelForgets(document.node, count: 1) }
            // The rows first, and the bytes behind the transaction.
            for document in documents {
                #expect(try await eventually { try !hasRow(document.inode) && !hasBytes(document.inode) })
            }
        }
    }

    /// Its room is wanted.
    @Test func aLargeOneAtOnce() async throws {
        let document = try await removed(1, size: 2 << 20)[0]
        test.volume.kernelForgets(document.node, count: 1)
        #expect(try isThere(document.inode) == false)
    }

    @Test func beforeTheEnd() async throws {
        let document = try await removed(1)[0]
        test.volume.deferredRemovals.bury(document.inode)
        #expect(try isThere(document.inode))
        test.volume.putAway()
        #expect(try isThere(document.inode) == false)
    }

    /// What has a name again, or was never without, stays.
    @Test func whatHasANameStays() async throws {
        let (lookup, opened) = try await test.create("named")
        try test.close(opened.handle)
        test.volume.deferredRemovals.bury(lookup.attributes.record.id)
        test.volume.reclaimNow()
        #expect(try isThere(lookup.attributes.record.id))
    }
}
