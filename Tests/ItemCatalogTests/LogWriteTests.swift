import CSQLite
import Foundation
import GRDB
import Testing

/// What is gathered for the write-ahead log (LogWrites.c) is there when a commit is, and nothing else is.
@Suite struct LogWriteTests {
    private let directory: String
    private var path: String { directory + "/database" }

    init() throws {
        #expect(csqlite_gather_log_writes() == 0)
        directory = NSTemporaryDirectory() + "gathered-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    /// - Parameter pages: so many are kept in memory; what a transaction changes beyond is in the log before it commits.
    private func open(pages: Int) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(20)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA page_size = 1024; PRAGMA synchronous = NORMAL; PRAGMA cache_size = \(pages)")
            _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
            try db.execute(sql: "CREATE TABLE IF NOT EXISTS note (key INTEGER PRIMARY KEY, value TEXT)")
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func notes(_ db: Database) throws -> [Int64: String] {
        try Dictionary(
            uniqueKeysWithValues: Row.fetchAll(db, sql: "SELECT key, value FROM note").map { ($0[0], $0[1]) })
    }

    private struct TakenBack: Error {}

    /// Transactions that write over their own pages, or are taken back; another connection that writes between them; and
    /// what a kill would leave. (No savepoints, which the catalog does not use: of one that is taken back SQLite 3.40.1
    /// itself can leave frames without a checksum, and a kill then takes what was committed after them.)
    @Test(arguments: 1...6) func whatIsCommittedIsThere(_ seed: Int) throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var random = SplitMix(state: UInt64(seed))
        let writers = try [open(pages: 4), open(pages: 4)]
        let reader = try open(pages: 100)
        var expected: [Int64: String] = [:]
        for round in 0..<120 {
            let writer = writers[random.next(below: 4) == 0 ? 1 : 0]
            let before = expected
            do {
                try writer.inTransaction(.immediate) { db in
                    func write(_ count: Int) throws {
                        for _ in 0..<count {
                            let key = Int64(random.next(below: 300))
                            let value = String(repeating: "\(round).", count: random.next(below: 300))
                            try db.execute(sql: "INSERT OR REPLACE INTO note VALUES (?, ?)", arguments: [key, value])
                            expected[key] = value
                        }
                    }
                    try write(random.next(below: 100))
                    if random.next(below: 4) == 0 { throw TakenBack() }
                    return .commit
                }
            } catch is TakenBack { expected = before }
            #expect(try reader.read(Self.notes) == expected)
            if round % 10 == 0 {
                let left = "\(directory)/left-\(round)"
                for suffix in ["", "-wal"] {
                    try FileManager.default.copyItem(atPath: path + suffix, toPath: left + suffix)
                }
                let next = try DatabaseQueue(path: left)
                #expect(try next.read(Self.notes) == expected)
                #expect(try next.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
                try next.close()
            }
            if round % 25 == 0 { try writers[1].writeWithoutTransaction { _ = try $0.checkpoint(.truncate) } }
        }
        #expect(try reader.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
    }

    /// Of this thread (proc(5), /proc/PID/io, syscw).
    private func writes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("syscw: ") })
        return try #require(Int(line.dropFirst(7)))
    }

    @Test func aCommitIsOneWrite() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let queue = try open(pages: 1_000)
        let text = String(repeating: "x", count: 900)
        for round in 0..<3 {
            let before = try writes()
            try queue.write { db in
                for key in 0..<20 {
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO note VALUES (?, ?)", arguments: [key, "\(round) \(text)"])
                }
            }
            // (The first frame after a look into the log goes by itself.)
            #expect(try writes() - before <= 2)
        }
    }
}

private struct SplitMix {
    var state: UInt64
    mutating func next(below limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) % UInt64(limit))
    }
}
