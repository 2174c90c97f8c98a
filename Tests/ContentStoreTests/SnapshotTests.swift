import ContentStore
import Foundation
import Glibc
import Testing

/// A snapshot is of one moment, or it is none.
@Suite struct SnapshotTests {
    private let test: TestStore

    init() throws { test = try TestStore() }

    /// The pages are clean and write-protected when the copy begins: a store through a mapping shows in the time stamps.
    @Test func whatIsStoredThroughAMappingLaterShowsInTheTimeStamps() throws {
        let file = try test.open(size: 0, present: nil)
        try file.write([UInt8](repeating: 1, count: 4_096), at: 0)
        let mapping = try #require(mmap(nil, 4_096, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0))
        try #require(mapping != MAP_FAILED)
        defer { munmap(mapping, 4_096) }
        mapping.storeBytes(of: 2, toByteOffset: 0, as: UInt8.self)
        let snapshot = try test.store.snapshot(of: file)
        #expect(try snapshot.read(at: 0, upTo: 1) == [2])
        let before = try file.status()
        // Longer than the clock of time stamps stands still.
        usleep(50_000)
        mapping.storeBytes(of: 3, toByteOffset: 1, as: UInt8.self)
        #expect(try file.status() != before)
    }
}
