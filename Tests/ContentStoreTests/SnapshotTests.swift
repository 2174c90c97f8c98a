import ContentStore
import Foundation
import Glibc
import Testing

/// A snapshot is of one moment, or it is none.
@Suite struct SnapshotTests {
    private let test: TestStore

    init() throws { test = try TestStore() }

    /// A document that has not been written for a while, and what is sent of it without a copy.
    private func original(_ count: Int) throws -> (ContentFile, Snapshot) {
        let file = try test.open(size: 0, present: nil)
        try file.write([UInt8](repeating: 1, count: count), at: 0)
        while true {
            do { return (file, try test.store.original(of: file)) } catch {
                guard error.code == .changed else { throw error }
                usleep(5_000)
            }
        }
    }

    @Test func theOriginalIsReadAsLongAsNobodyChangesIt() throws {
        let (file, snapshot) = try original(10_000)
        #expect(snapshot.isOriginal && snapshot.size == 10_000)
        #expect(try snapshot.read(at: 0, upTo: 10_000) == [UInt8](repeating: 1, count: 10_000))
        try file.write([2], at: 9_999)
        #expect(throws: ContentError.self) { try snapshot.read(at: 0, upTo: 100) }
        #expect(snapshot.hasChanged)
        // Even if it looks as before.
        try file.write([1], at: 9_999)
        #expect(throws: ContentError.self) { try snapshot.read(at: 0, upTo: 100) }
    }

    @Test func aChangeShowsWhateverDateItIsGiven() throws {
        let (file, snapshot) = try original(100)
        let date = try file.status().modified
        try file.write([2], at: 0)
        try file.setModified(date)
        #expect(throws: ContentError.self) { try snapshot.read(at: 0, upTo: 100) }
    }

    @Test func whatIsStoredThroughAMappingShowsInTheOriginal() throws {
        let file = try test.open(size: 0, present: nil)
        try file.write([UInt8](repeating: 1, count: 4_096), at: 0)
        let mapping = try #require(mmap(nil, 4_096, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0))
        try #require(mapping != MAP_FAILED)
        defer { munmap(mapping, 4_096) }
        mapping.storeBytes(of: 2, toByteOffset: 0, as: UInt8.self)
        usleep(50_000)
        let snapshot = try test.store.original(of: file)
        #expect(try snapshot.read(at: 0, upTo: 2) == [2, 1])
        mapping.storeBytes(of: 3, toByteOffset: 1, as: UInt8.self)
        #expect(throws: ContentError.self) { try snapshot.read(at: 0, upTo: 2) }
    }

    @Test func whatWasWrittenAMomentAgoIsNotSentWithoutACopy() throws {
        let file = try test.open(size: 0, present: nil)
        var wasRefused = false
        // (A pause between the two may be longer than the clock of time stamps stands still.)
        for _ in 0..<100 where !wasRefused {
            try file.write([1], at: 0)
            do { _ = try test.store.original(of: file) } catch { wasRefused = error.code == .changed }
        }
        #expect(wasRefused)
    }

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

    @Test(arguments: [0, 1, 65_536]) func aSmallDocumentIsCopiedIntoMemory(_ count: Int) throws {
        let file = try test.open(size: 0, present: nil)
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try file.write(bytes, at: 0)
        let snapshot = try #require(try test.store.smallSnapshot(of: file))
        #expect(snapshot.descriptor == nil && !snapshot.isOriginal && snapshot.size == Int64(count))
        // Later changes do not matter.
        try file.write([99, 98], at: 0)
        #expect(try snapshot.read(at: 0, upTo: count + 10) == bytes)
        #expect(try snapshot.read(at: Int64(count / 2), upTo: 7) == Array(bytes[(count / 2)...].prefix(7)))
        #expect(try snapshot.read(at: Int64(count) + 5, upTo: 7) == [])
    }

    @Test func aLargerDocumentIsNotCopiedIntoMemory() throws {
        let file = try test.open(size: 0, present: nil)
        try file.truncate(to: 65_537)
        #expect(try test.store.smallSnapshot(of: file) == nil)
    }

    // MARK: A copy that is made during the upload

    /// Of a document that has not been written for a while.
    private func growing(_ file: ContentFile) throws -> Snapshot {
        while true {
            if let snapshot = try test.store.growingSnapshot(of: file) { return snapshot }
            usleep(5_000)
        }
    }

    private func written(_ byte: UInt8, _ count: Int) throws -> ContentFile {
        let file = try test.open(size: 0, present: nil)
        try file.write([UInt8](repeating: byte, count: count), at: 0)
        return file
    }

    @Test func aGrowingCopyHasTheSameBytesBeforeAndAfterItIsComplete() throws {
        let file = try written(1, 100_000)
        let snapshot = try growing(file)
        #expect(snapshot.isGrowing && snapshot.size == 100_000)
        #expect(try snapshot.read(at: 99_990, upTo: 100) == [UInt8](repeating: 1, count: 10))
        try snapshot.complete()
        try file.write([2, 2], at: 99_990)
        try file.truncate(to: 99_995)
        #expect(try snapshot.read(at: 0, upTo: 200_000) == [UInt8](repeating: 1, count: 100_000))
        #expect(!snapshot.hasChanged)
    }

    @Test func aChangeBeforeAGrowingCopyIsCompleteEndsIt() throws {
        let file = try written(1, 100_000)
        let snapshot = try growing(file)
        #expect(try snapshot.read(at: 0, upTo: 1) == [1])
        try file.write([2], at: 50_000)
        #expect(throws: ContentError.self) { try snapshot.read(at: 0, upTo: 1) }
        #expect(snapshot.hasChanged)
        #expect(throws: ContentError.self) { try snapshot.complete() }
        #expect(throws: ContentError.self) { try snapshot.read(at: 0, upTo: 1) }
    }

    @Test func whatIsMappedForWritingIsNotCopiedLater() throws {
        let file = try written(1, 100_000)
        let other = Glibc.open("/proc/self/fd/\(file.descriptor)", O_RDWR | O_CLOEXEC)
        try #require(other >= 0)
        let mapping = try #require(mmap(nil, 4_096, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0))
        try #require(mapping != MAP_FAILED)
        close(other)
        usleep(50_000)
        #expect(try test.store.growingSnapshot(of: file) == nil)
        munmap(mapping, 4_096)
        _ = try growing(file)
    }

    /// A page that a program stores to through a mapping that it makes later.
    @Test func aMappingThatIsMadeLaterShows() throws {
        let file = try written(1, 100_000)
        let snapshot = try growing(file)
        let mapping = try #require(mmap(nil, 4_096, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0))
        try #require(mapping != MAP_FAILED)
        defer { munmap(mapping, 4_096) }
        usleep(50_000)
        mapping.storeBytes(of: 2, toByteOffset: 0, as: UInt8.self)
        #expect(throws: ContentError.self) { try snapshot.complete() }
    }
}
