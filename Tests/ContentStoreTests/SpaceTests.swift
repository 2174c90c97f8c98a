import ContentStore
import Foundation
import Testing

/// Holes and copies in a document of which parts may not be here.
@Suite struct SpaceTests {
    private let test: TestStore
    /// A multiple of every file system's block.
    private static let block: Int64 = 65_536
    // fallocate(2), linux/falloc.h.
    private let keepSize: Int32 = 0x01
    private let punch: Int32 = 0x01 | 0x02
    private let collapse: Int32 = 0x08
    private let zero: Int32 = 0x10
    private let insert: Int32 = 0x20

    init() throws { test = try TestStore() }

    private func bytes(_ value: UInt8, blocks: Int64 = 1) -> [UInt8] {
        [UInt8](repeating: value, count: Int(blocks * Self.block))
    }

    // MARK: lseek

    /// A document of such blocks: `m` not here, `d` here, `h` a hole that is here.
    private func document(_ pattern: String, inode: Int64 = 5) throws -> ContentFile {
        let file = try test.open(inode, size: Int64(pattern.count) * Self.block)
        for (index, block) in pattern.enumerated() {
            let start = Int64(index) * Self.block
            switch block {
            case "d": try file.store(bytes(1), at: start)
            case "h": _ = try file.allocate(mode: punch, start..<start + Self.block)
            default: break
            }
        }
        return file
    }

    /// Nil: ENXIO.
    private func seek(_ file: ContentFile, _ offset: Int64, data: Bool) throws -> Int64? {
        do { return try file.seek(offset, data: data) } catch {
            guard error.code == .system(ENXIO) else { throw error }
            return nil
        }
    }

    /// Where data, and where a hole, is found from the first byte of each block on; in blocks, `-` for ENXIO.
    @Test(arguments: [
        // A placeholder is no hole: an archiver would take it for zeros.
        ("m", "0", "1"), ("mmm", "012", "333"),
        ("d", "0", "1"), ("ddd", "012", "333"),
        ("h", "-", "0"), ("hh", "--", "01"),
        ("hd", "11", "02"), ("dh", "0-", "11"),
        ("mh", "0-", "11"), ("hm", "11", "02"),
        ("md", "01", "22"), ("dm", "01", "22"),
        ("mhd", "022", "113"), ("dhm", "022", "113"), ("hmd", "112", "033"), ("hdm", "112", "033"),
        ("mhm", "022", "113"), ("dhd", "022", "113"), ("hmh", "11-", "022"),
        ("mdhhmmhd", "01444577", "22236668"),
    ])
    func whatIsNotHereIsData(pattern: String, data: String, holes: String) throws {
        let file = try document(pattern)
        for (isData, expected) in [(true, data), (false, holes)] {
            var found = ""
            for index in 0..<pattern.count {
                let place = try seek(file, Int64(index) * Self.block, data: isData)
                found += place.map { $0 % Self.block == 0 ? String($0 / Self.block) : "?" } ?? "-"
            }
            #expect(found == expected, "\(pattern), \(isData ? "data" : "holes")")
        }
    }

    @Test func fromTheMiddleOfABlock() throws {
        let file = try document("mdhm")
        let half = Self.block / 2
        #expect(try seek(file, half, data: true) == half)
        #expect(try seek(file, half, data: false) == 2 * Self.block)
        #expect(try seek(file, Self.block + half, data: true) == Self.block + half)
        #expect(try seek(file, 2 * Self.block + half, data: true) == 3 * Self.block)
        #expect(try seek(file, 2 * Self.block + half, data: false) == 2 * Self.block + half)
        #expect(try seek(file, 4 * Self.block - 1, data: true) == 4 * Self.block - 1)
    }

    @Test(arguments: [Int64(-1), 3 * 65_536, 3 * 65_536 + 1, .max])
    func pastTheEndThereIsNothing(offset: Int64) throws {
        let file = try document("mdh")
        #expect(try seek(file, offset, data: true) == nil)
        #expect(try seek(file, offset, data: false) == nil)
    }

    @Test func anEmptyDocumentHasNeither() throws {
        let file = try test.open(size: 0)
        #expect(try seek(file, 0, data: true) == nil && seek(file, 0, data: false) == nil)
    }

    /// All of it is here, though the store has only the first block.
    @Test func whatAProgramAddedIsItsOwn() throws {
        let file = try test.open(size: Self.block)
        try file.truncate(to: 3 * Self.block)
        try file.write(bytes(1), at: 2 * Self.block)
        #expect(try seek(file, 0, data: true) == 0)
        #expect(try seek(file, 0, data: false) == Self.block)
        #expect(try seek(file, Self.block, data: true) == 2 * Self.block)
    }

    /// Against a plain reading of the rule, on random documents.
    @Test(arguments: 0..<15)
    func asTheRuleSays(seed: Int) throws {
        let pattern = (0..<12).map { _ in "mdh".randomElement()! }
        let file = try document(String(pattern), inode: Int64(seed) + 1)
        for _ in 0..<60 {
            let offset = Int64.random(in: 0..<Int64(pattern.count) * Self.block)
            let index = Int(offset / Self.block)
            func first(_ matches: (Character) -> Bool) -> Int64? {
                pattern.indices.first { $0 >= index && matches(pattern[$0]) }.map {
                    max(offset, Int64($0) * Self.block)
                }
            }
            #expect(try seek(file, offset, data: true) == first { $0 != "h" }, "\(String(pattern)) from \(offset)")
            let hole = first { $0 == "h" } ?? Int64(pattern.count) * Self.block
            #expect(try seek(file, offset, data: false) == hole, "\(String(pattern)) from \(offset)")
        }
    }

    // MARK: fallocate

    @Test func whatIsPunchedOutIsHereAndZero() throws {
        let file = try document("dmd")
        let range = Self.block / 2..<2 * Self.block + 10
        #expect(try file.allocate(mode: punch, range))
        file.noteRecorded(file.present)
        #expect(try !file.allocate(mode: punch, range))
        #expect(file.isComplete)
        #expect(try file.status().size == 3 * Self.block)
        let before = range.lowerBound
        #expect(try file.bytes(before - 1..<before + 1) == [1, 0])
        #expect(try file.bytes(range.upperBound - 1..<range.upperBound + 1) == [0, 1])
        // The store's bytes come no more.
        try file.store(bytes(9, blocks: 3), at: 0)
        #expect(try file.bytes(Self.block..<Self.block + 1) == [0])
        #expect(try seek(file, Self.block, data: true) == 2 * Self.block)
    }

    @Test func whatIsZeroedIsHere() throws {
        let file = try document("mmm")
        #expect(try file.allocate(mode: zero | keepSize, Self.block..<2 * Self.block))
        #expect(file.missing(in: 0..<3 * Self.block) == [0..<Self.block, 2 * Self.block..<3 * Self.block])
        try file.store(bytes(9, blocks: 3), at: 0)
        #expect(try file.bytes(Self.block - 1..<Self.block + 1) == [9, 0])
        #expect(try file.bytes(2 * Self.block - 1..<2 * Self.block + 1) == [0, 9])
        // Past the end: it grows, unless it may not.
        #expect(try !file.allocate(mode: zero | keepSize, 3 * Self.block..<4 * Self.block))
        #expect(try file.status().size == 3 * Self.block)
        #expect(try !file.allocate(mode: zero, 3 * Self.block..<4 * Self.block))
        #expect(try file.status().size == 4 * Self.block)
        #expect(file.baseSize == 3 * Self.block)
    }

    /// Room is made; which bytes are there stays as it was.
    @Test func plainSpaceBringsNoBytes() throws {
        let file = try document("md")
        let before = try file.status().blocks
        #expect(try !file.allocate(mode: 0, 0..<3 * Self.block))
        #expect(try file.status().size == 3 * Self.block)
        #expect(try file.status().blocks >= before + 2 * Self.block / 512)
        #expect(file.missing(in: 0..<3 * Self.block) == [0..<Self.block])
        try file.store(bytes(9, blocks: 2), at: 0)
        #expect(try file.bytes(0..<1) == [9] && file.bytes(Self.block..<Self.block + 1) == [1])
        #expect(try file.bytes(2 * Self.block..<2 * Self.block + 1) == [0])
        #expect(try !file.allocate(mode: keepSize, 0..<9 * Self.block))
        #expect(try file.status().size == 3 * Self.block)
    }

    @Test func whatWouldShiftBytesIsNotOffered() throws {
        let file = try document("dmd")
        for mode in [collapse, insert, zero | collapse, 0x40] {
            let error = #expect(throws: ContentError.self) { try file.allocate(mode: mode, 0..<Self.block) }
            #expect(error?.code == .system(EOPNOTSUPP))
        }
        // A failure brings nothing.
        let error = #expect(throws: ContentError.self) { try file.allocate(mode: zero, -5..<Self.block) }
        #expect(error?.code == .system(EINVAL))
        #expect(file.missing(in: 0..<3 * Self.block) == [Self.block..<2 * Self.block])
    }

    // MARK: copy_file_range

    @Test func bytesAreCopiedBetweenFiles() throws {
        let (source, target) = (try document("dd", inode: 1), try document("mmm", inode: 2))
        try source.write([5, 6, 7], at: Self.block)
        let done = try target.copy(from: source, at: Self.block, to: 10, count: Int(Self.block))
        #expect(done.count == Int(Self.block) && done.extended)
        #expect(try target.bytes(9..<14) == [0, 5, 6, 7, 1])
        #expect(target.missing(in: 0..<3 * Self.block) == [0..<10, Self.block + 10..<3 * Self.block])
        target.noteRecorded(target.present)
        let again = try target.copy(from: source, at: Self.block, to: 10, count: 3)
        #expect(again.count == 3 && !again.extended)
        // A program's bytes win here as well.
        try target.store(bytes(9, blocks: 3), at: 0)
        #expect(try target.bytes(9..<13) == [9, 5, 6, 7])
    }

    @Test func atTheEndOfTheSourceThereAreFewer() throws {
        let (source, target) = (try document("d", inode: 1), try document("m", inode: 2))
        let done = try target.copy(from: source, at: Self.block - 4, to: 0, count: 1_000)
        #expect(done.count == 4 && done.extended)
        #expect(target.missing(in: 0..<Self.block) == [4..<Self.block])
        let none = try target.copy(from: source, at: Self.block, to: 100, count: 1_000)
        #expect(none.count == 0 && !none.extended)
        // Past the store's bytes nothing was missing.
        let past = try target.copy(from: source, at: 0, to: Self.block, count: 10)
        #expect(past.count == 10 && !past.extended)
        #expect(try target.status().size == Self.block + 10)
    }

    @Test func withinOneFile() throws {
        let file = try document("dmm")
        try file.write([5, 6], at: 0)
        let done = try file.copy(from: file, at: 0, to: Self.block, count: Int(Self.block))
        #expect(done.count == Int(Self.block) && done.extended)
        #expect(try file.bytes(Self.block..<Self.block + 3) == [5, 6, 1])
        #expect(file.missing(in: 0..<3 * Self.block) == [2 * Self.block..<3 * Self.block])
        // copy_file_range(2): the ranges overlap.
        let error = #expect(throws: ContentError.self) { try file.copy(from: file, at: 0, to: 100, count: 1_000) }
        #expect(error?.code == .system(EINVAL))
    }

    // MARK: Snapshots

    @Test func aSnapshotKeepsTheHoles() throws {
        let size = 256 * Self.block
        func sparse(_ inode: Int64) throws -> ContentFile {
            let file = try test.open(inode, size: 0)
            try file.truncate(to: size)
            return file
        }
        let file = try sparse(5)
        try file.write(bytes(1), at: 3 * Self.block)
        try file.write([7, 8, 9], at: size - 3)
        let snapshot = try test.store.snapshot(of: file)
        var status = stat()
        #expect(fstat(try #require(snapshot.descriptor), &status) == 0)
        #expect(status.st_size == size)
        #expect(Int64(status.st_blocks) * 512 <= 3 * Self.block)
        #expect(try snapshot.read(at: 3 * Self.block - 1, upTo: 2) == [0, 1])
        #expect(try snapshot.read(at: 4 * Self.block - 1, upTo: 2) == [1, 0])
        #expect(try snapshot.read(at: size - 4, upTo: 100) == [0, 7, 8, 9])
        // Nothing but a hole.
        let empty = try test.store.snapshot(of: sparse(6))
        #expect(fstat(try #require(empty.descriptor), &status) == 0)
        #expect(status.st_size == size && status.st_blocks == 0)
    }
}
