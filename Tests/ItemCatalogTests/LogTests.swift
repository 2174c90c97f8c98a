import Foundation
import ItemCatalog
import Testing
import Trees

/// The write-ahead log of a catalog that is written without an end.
@Suite struct LogTests {
    private let directory: String
    private var path: String { directory + "/catalog" }

    init() throws {
        directory = NSTemporaryDirectory() + "log-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    private func bytesOfLog() throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int)
    }

    /// How often the log has begun anew (sqlite.org/fileformat2.html, 4.1: the checkpoint sequence number).
    private func beginnings(_ log: FileHandle) throws -> UInt32 {
        try log.seek(toOffset: 12)
        let bytes = try #require(try log.read(upToCount: 4))
        return bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Before its length makes it (34 MB), though it is written without a pause. On a busy machine it is not always: whoever
    /// brings it over must have been quick enough once.
    @Test func theLogBeginsAnewBetweenCommits() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let catalog = try Catalog(path: path, domain: "dir:/a", owner: (0, 0))
        defer { catalog.close() }
        catalog.reserveRoom(4 << 20)
        #expect(try bytesOfLog() == 4 << 20)
        let log = try #require(FileHandle(forReadingAtPath: path + "-wal"))
        let text = String(repeating: "x", count: 4_000)
        var last = try beginnings(log)
        var round = 0
        var start = 0
        var shortest = Int.max
        while round < 1_000, shortest > 15 {
            round += 1
            for index in 0..<100 { try catalog.write { try $0.takeNote("note \(index)", "\(round) \(text)") } }
            let now = try beginnings(log)
            if now != last {
                shortest = min(shortest, round - start)
                (last, start) = (now, round)
            }
        }
        // (When only its length has it begin anew, it is after 30 of them.)
        #expect(shortest <= 15, "\(shortest) rounds")
        #expect(try catalog.read { try $0.note("note 7") } == "\(round) \(text)")
    }

    /// A kill leaves the log as it is, its blank rest included.
    @Test func whatIsBlankInTheLogIsNobodysChange() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let catalog = try Catalog(path: path, domain: "dir:/a", owner: (0, 0))
        defer { catalog.close() }
        try catalog.write { try $0.takeNote("before", "1") }
        catalog.reserveRoom(1 << 20)
        try catalog.write { try $0.takeNote("after", "2") }
        let left = directory + "/left"
        for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + suffix, toPath: left + suffix) }
        let next = try Catalog(path: left, domain: "dir:/a", owner: (0, 0))
        defer { next.close() }
        #expect(try next.read { try $0.note("before") } == "1")
        #expect(try next.read { try $0.note("after") } == "2")
        #expect(try next.read { try $0.examine() }.isEmpty)
    }
}
