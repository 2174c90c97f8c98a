import Foundation
import ItemCatalog
import Testing

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

    /// Of some 150 MB that are written without a pause.
    @Test func theLogBeginsAnewBetweenCommits() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let catalog = try Catalog(path: path, domain: "dir:/a", owner: (0, 0))
        defer { catalog.close() }
        catalog.reserveRoom(4 << 20)
        #expect(try bytesOfLog() == 4 << 20)
        let text = String(repeating: "x", count: 4_000)
        for round in 0..<200 {
            for index in 0..<100 { try catalog.write { try $0.takeNote("note \(index)", "\(round) \(text)") } }
        }
        // (As long as it gets when only its length has it begin anew: 34 MB.)
        let size = try bytesOfLog()
        #expect(size < 24 << 20)
        #expect(try catalog.read { try $0.note("note 7") } == "199 \(text)")
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
