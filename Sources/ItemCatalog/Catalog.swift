package import FileProvider
import Foundation
import GRDB
import Synchronization

/// The catalog of one domain: inodes, names, items and the three trees, in one SQLite file.
///
/// Safe from any thread. A method that changes something has committed when it returns: the change
/// survives SIGKILL of this process; power loss only after ``synchronize()``. Nothing here waits for the
/// network.
package final class Catalog: Sendable {
    private let pool: DatabasePool
    package let path: String

    /// Opens or makes the catalog of `domain` at `path`.
    ///
    /// - Parameters:
    ///   - domain: what the catalog belongs to (`dir:/STORE`); another one's catalog is refused.
    ///   - owner: who owns what is in a fresh catalog, the root first.
    package init(path: String, domain: String, owner: (uid: UInt32, gid: UInt32)) throws(CatalogError) {
        self.path = path
        do {
            var configuration = Configuration()
            configuration.label = "catalog"
            configuration.maximumReaderCount = 8
            configuration.prepareDatabase { db in
                try db.execute(sql: "PRAGMA synchronous = NORMAL")
                try db.execute(sql: "PRAGMA mmap_size = 268435456")
            }
            pool = try DatabasePool(path: path, configuration: configuration)
            let migrator = Migrations.migrator
            if try pool.read({ try migrator.hasBeenSuperseded($0) }) {
                throw CatalogError(
                    .newerVersion, "\(path): made by a newer Hydrant; use that version, or another --state-dir")
            }
            let isNew = try pool.read { try !$0.tableExists("domain") }
            try migrator.migrate(pool)
            try pool.write { db in
                if isNew {
                    let now = FileTime.now.nanoseconds
                    try db.execute(
                        sql:
                            "UPDATE inode SET uid = ?, gid = ?, atime = ?, mtime = ?, ctime = ?, btime = ? WHERE id = 1",
                        arguments: [owner.uid, owner.gid, now, now, now, now])
                    try db.execute(
                        sql: "UPDATE item SET identifier = ? WHERE id = 1",
                        arguments: [ItemIdentifier.rootContainer.rawValue])
                    try db.execute(sql: "INSERT INTO domain VALUES ('domain', ?)", arguments: [domain])
                }
                let owner = try String.fetchOne(db, sql: "SELECT value FROM domain WHERE key = 'domain'")
                guard owner == domain else {
                    throw CatalogError(
                        .wrongDomain,
                        "\(path): belongs to \(owner ?? "nobody"), not to \(domain); use another --state-dir")
                }
            }
        } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    /// Looks something up; sees every change committed before the call.
    package func read<T>(_ body: (Reader) throws -> T) throws(CatalogError) -> T {
        do { return try pool.read { try body(Reader(db: $0)) } } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    /// One transaction: all of it is committed when this returns, or nothing when it throws.
    package func write<T>(_ body: (Writer) throws -> T) throws(CatalogError) -> T {
        do { return try pool.write { try body(Writer(db: $0)) } } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    /// After this returns, what was committed before survives power loss: the write-ahead log is on disk.
    package func synchronize() throws(CatalogError) {
        let descriptor = open(path + "-wal", O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            // No log: everything has been checkpointed, which SQLite syncs.
            if errno == ENOENT { return }
            throw CatalogError(.system, "\(path)-wal: \(String(cString: strerror(errno)))")
        }
        defer { Foundation.close(descriptor) }
        guard fdatasync(descriptor) == 0 else {
            throw CatalogError(.system, "\(path)-wal: \(String(cString: strerror(errno)))")
        }
    }

    package func close() {
        try? pool.close()
    }

    private static func translate(_ error: any Error, path: String) -> CatalogError {
        if let error = error as? CatalogError { return error }
        if let error = error as? DatabaseError {
            switch error.resultCode {
            case .SQLITE_FULL: return CatalogError(.diskFull, "\(path): no space left on its disk")
            case .SQLITE_CORRUPT, .SQLITE_NOTADB:
                return CatalogError(
                    .damaged,
                    "\(path): the catalog is damaged (\(error.message ?? "unreadable")); "
                        + "move the state directory aside to start afresh, modified documents are in its storage folder"
                )
            default: return CatalogError(.system, "\(path): \(error.message ?? "SQLite error \(error.resultCode)")")
            }
        }
        return CatalogError(.system, "\(path): \(error)")
    }

    /// A snapshot of the catalog to look things up in.
    package class Reader {
        let db: Database
        init(db: Database) { self.db = db }
    }

    /// A transaction under way. Instances live only inside ``Catalog/write(_:)``.
    package final class Writer: Reader {
        /// What the kernel must forget once this is committed.
        package var changes: [CatalogChange] = []
        /// Places in the local tree that were given up, where something of the provider's may wait.
        var freedPlaces: [TreePlace] = []
        /// What time it is for everything this transaction does.
        package let now = FileTime.now
    }
}

extension FileTime {
    /// CLOCK_REALTIME.
    package static var now: FileTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return FileTime(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }

    package func adding(seconds: Double) -> FileTime {
        FileTime(nanoseconds: nanoseconds + Int64(seconds * 1e9))
    }
}
