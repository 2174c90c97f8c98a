import GRDB
import Glibc

/// A database beside the catalog that can be rebuilt completely: one that cannot be opened is removed.
enum IndexFile {
    /// - Parameters:
    ///   - cache: KiB of pages in memory; nil: SQLite's default.
    ///   - prepare: creates missing tables; throws when the file holds another index.
    static func open(
        _ path: String, label: String, cache: Int? = nil, _ prepare: (Database) throws -> Void
    ) throws -> DatabasePool {
        do { return try openOnce(path, label, cache, prepare) } catch {
            remove(path)
            return try openOnce(path, label, cache, prepare)
        }
    }

    private static func openOnce(
        _ path: String, _ label: String, _ cache: Int?, _ prepare: (Database) throws -> Void
    ) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = label
        configuration.maximumReaderCount = 3
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
            if let cache { try db.execute(sql: "PRAGMA cache_size = -\(cache)") }
            try db.execute(sql: "PRAGMA journal_size_limit = 4194304")
        }
        let database = try DatabasePool(path: path, configuration: configuration)
        do { try database.write(prepare) } catch {
            try? database.close()
            throw error
        }
        return database
    }

    /// The index must be closed.
    static func remove(_ path: String) { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
}
