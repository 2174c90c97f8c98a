import CLinux
import CSQLite
import FileProvider
import Foundation
import GRDB
import GRDBSQLite
import Locking
import Synchronization
package import Trees

/// The catalog of one domain: inodes, names, items and the three trees, in one SQLite file.
///
/// Safe from any thread. A method that changes something has committed when it returns: the change
/// survives SIGKILL of this process; power loss only after ``synchronize()``. Nothing here waits for the
/// network.
package final class Catalog: Sendable {
    /// The connection that writes.
    private let writer: DatabaseQueue
    /// Whose turn it is on that one. Held for a whole transaction: a `Mutex` would have those who wait spin, and is handed from
    /// one waiting thread to the next (FUTEX_LOCK_PI), at a switch each.
    private let turn = NSLock()
    private let readers: ReaderPool
    private let users = CatalogUsers()
    package let path: String
    package var exclusions: Exclusions { kept.exclusions }
    package var hold: DeletionHold { kept.hold }
    /// For ``reserveRoom(_:)``. Open for longer than SQLite has it: whoever closes any descriptor of a file
    /// gives up all of his process's locks on it (fcntl(2)), and another program that looks into the catalog would take
    /// itself for the last one, and take the log away under us (sqlite.org/howtocorrupt.html, 2.2).
    private let file: HeldFile
    private let log: HeldLog
    private let commits = Atomic<Int>(0)
    /// How many of them are known to be on disk.
    private let durableCommits = Atomic<Int>(-1)
    private let kept: Kept
    var indexedNames: IndexedNames { kept.indexedNames }
    private let queries = PreparedQueries.Table()
    private let checkpointer: Checkpointer
    private let rowWatch = RowWatch()
    private struct WeakObserver: Sendable { weak var observer: (any CommitObserver)? }
    private let observer = AdaptiveMutex(WeakObserver())

    /// Opens or makes the catalog of `domain` at `path`.
    ///
    /// - Parameters:
    ///   - domain: what the catalog belongs to (`dir:/STORE`); another one's catalog is refused.
    ///   - owner: who owns what is in a fresh catalog, the root first.
    package init(
        path: String, domain: String, owner: (uid: UInt32, gid: UInt32), exclusions: Exclusions = Exclusions(),
        hold: DeletionHold = DeletionHold()
    ) throws(CatalogError) {
        self.path = path
        kept = Kept(exclusions: exclusions, hold: hold)
        checkpointer = Checkpointer(path: path)
        log = HeldLog(path + "-wal")
        do {
            let isNew: Bool
            (writer, isNew) = try Self.openWriter(path)
            file = HeldFile(path)
            readers = ReaderPool(path: path, configuration: Self.configuration, queries: queries)
            try writer.write { db in
                checkpointer.watch(db)
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
                try Self.setMark(db)
                let owner = try String.fetchOne(db, sql: "SELECT value FROM domain WHERE key = 'domain'")
                guard owner == domain else {
                    throw CatalogError(
                        .wrongDomain,
                        "\(path): belongs to \(owner ?? "nobody"), not to \(domain)")
                }
            }
        } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    /// Opens a catalog that is there, of whatever domain. An older one's schema is brought up to date.
    package init(existing path: String) throws(CatalogError) {
        self.path = path
        kept = Kept(exclusions: Exclusions(), hold: DeletionHold())
        checkpointer = Checkpointer(path: path)
        log = HeldLog(path + "-wal")
        do {
            guard access(path, F_OK) == 0 else { throw CatalogError(.notFound, "\(path): there is no catalog") }
            let isNew: Bool
            (writer, isNew) = try Self.openWriter(path)
            file = HeldFile(path)
            readers = ReaderPool(path: path, configuration: Self.configuration, queries: queries)
            if isNew { throw CatalogError(.damaged, "\(path): holds no catalog") }
            writer.writeWithoutTransaction { checkpointer.watch($0) }
        } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "catalog"
        // Who looks into the catalog with another program while we write makes us wait, not fail.
        configuration.busyMode = .timeout(Double(patience))
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = NORMAL") }
        return configuration
    }

    private static func openWriter(_ path: String) throws -> (DatabaseQueue, isNew: Bool) {
        _ = prepared
        let migrator = Migrations.migrator
        try examine(path, migrator)
        var configuration = configuration
        configuration.prepareDatabase { db in
            // Of a catalog that is new. Half of SQLite's own: what a small change writes are whole pages.
            try db.execute(sql: "PRAGMA page_size = 2048")
            try db.execute(sql: "PRAGMA journal_size_limit = \(usualLog)")
            // (GRDB's own way makes a table each time, and drops it.)
            try db.execute(sql: "PRAGMA journal_mode = WAL")
        }
        let writer = try DatabaseQueue(path: path, configuration: configuration)
        let isNew = try writer.read { try !$0.tableExists("domain") }
        try migrator.migrate(writer)
        return (writer, isNew)
    }

    /// Once a process, before its first connection.
    private static let prepared: Void = {
        _ = csqlite_count_no_memory()
        _ = csqlite_gather_log_writes()
    }()

    /// A newer version's catalog, and a damaged one that would have to be migrated, are left byte for byte as they
    /// are: even opening them for writing would change them.
    private static func examine(_ path: String, _ migrator: DatabaseMigrator) throws {
        guard access(path, F_OK) == 0 else { return }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        try DatabaseQueue(path: path, configuration: configuration).read { db in
            if try migrator.hasBeenSuperseded(db) {
                throw CatalogError(
                    .newerVersion, "\(path): made by a newer Hydrant; use that version, or another --state-dir")
            }
            if try migrator.hasCompletedMigrations(db) { return }
            let verdict = try String.fetchOne(db, sql: "PRAGMA quick_check(1)") ?? "unreadable"
            if verdict != "ok" { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: verdict) }
        }
    }

    /// Another number whenever something was written: what was looked up before it still holds.
    package var edition: Int { commits.load(ordering: .relaxed) }

    /// Looks something up; sees every change committed before the call.
    package func read<T>(_ body: (Reader) throws -> T) throws(CatalogError) -> T {
        try users.enter(path)
        defer { users.leave() }
        do {
            // The connection that writes, when it is free: it has in memory what was written last, where to any other
            // one all that it knows is old after each commit.
            var result: Result<T, any Error>?
            if turn.try() {
                defer { turn.unlock() }
                result = Result { try writer.unsafeRead { try look($0, body) } }
            }
            return try result?.get() ?? readers.read { try look($0, body) }
        } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    /// The same, and nobody commits anything before it returns: it waits for whoever writes, and they for it.
    package func readInTurn<T>(_ body: (Reader) throws -> T) throws(CatalogError) -> T {
        try users.enter(path)
        defer { users.leave() }
        do { return try inTurn { try writer.unsafeRead { try look($0, body) } } } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    /// The same on a connection that only looks: however long it takes, nobody waits for it to commit.
    package func readAside<T>(_ body: (Reader) throws -> T) throws(CatalogError) -> T {
        try users.enter(path)
        defer { users.leave() }
        do { return try readers.read { try look($0, body) } } catch { throw Catalog.translate(error, path: path) }
    }

    /// Has `observer` called with the rows that each transaction has changed, before anybody else can commit: it only takes
    /// a note. Ends with ``unwatchRows(_:)``.
    package func watchRows(_ observer: @escaping @Sendable (ChangedRows) -> Void) throws(CatalogError) -> Int {
        try users.enter(path)
        defer { users.leave() }
        do { return try inTurn { writer.unsafeRead { rowWatch.add(observer, $0.sqliteConnection) } } } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    package func unwatchRows(_ key: Int) {
        guard (try? users.enter(path)) != nil else { return }
        defer { users.leave() }
        try? inTurn { writer.unsafeRead { rowWatch.remove(key, $0.sqliteConnection) } }
    }

    private func look<T>(_ db: Database, _ body: (Reader) throws -> T) throws -> T {
        let reader = Reader(db: db, queries.of(db))
        return try reader.inTransaction(Reader.begin) { try body(reader) }
    }

    /// Set once, before the first transaction that anybody is to be told of.
    package func observe(_ observer: any CommitObserver) { self.observer.withLock { $0.observer = observer } }

    /// One transaction: all of it is committed when this returns, or nothing when it throws. Who observes the catalog is
    /// told of the commit. Where the disk is full
    /// `body` may run twice: also what gives room again, a deletion above all, has to be written down.
    package func write<T>(_ body: (Writer) throws -> T) throws(CatalogError) -> T {
        try users.enter(path)
        defer { users.leave() }
        do { return try transaction(body) } catch {
            guard error.code == .diskFull else { throw error }
            // What is in the database by now makes room in the log.
            _ = try? inTurn { try writer.writeWithoutTransaction { try $0.checkpoint(.restart) } }
            return try transaction(body)
        }
    }

    private func inTurn<T>(_ body: () throws -> T) throws -> T {
        try turn.withLock(body)
    }

    private func transaction<T>(_ body: (Writer) throws -> T) throws(CatalogError) -> T {
        let observer = observer.withLock { $0.observer }
        var begun: TreeTransaction?
        let result: T
        do {
            result = try transaction(body) {
                begun = $0; observer?.begins($0)
            }
        } catch {
            if let begun { observer?.failed(begun) }
            throw error
        }
        if let observer, let begun { CommitNotices.carryOut { observer.committed(begun) } }
        return result
    }

    private func transaction<T>(
        _ body: (Writer) throws -> T, _ begins: (TreeTransaction) -> Void
    ) throws(CatalogError) -> T {
        do {
            // (Counted also when it fails: what was looked up before is looked up once too often then.)
            defer { commits.add(1, ordering: .releasing) }
            // (GRDB prepares BEGIN and COMMIT each time.)
            return try inTurn {
                try writer.writeWithoutTransaction { db in
                    let transaction = Writer(db: db, queries.of(db), kept)
                    begins(transaction.transaction)
                    var isCommitted = false
                    defer { rowWatch.ended(isCommitted: isCommitted) }
                    let result = try transaction.inTransaction(Reader.beginToWrite) { try body(transaction) }
                    isCommitted = true
                    return result
                }
            }
        } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    /// Sets room on the disk aside for `size` bytes of changes, which nobody else can take: where others have filled the
    /// disk to the last byte, an eviction or an `rm`, which give room again, can still be written down. Where there is
    /// no room even for that, nothing happens; call it again.
    ///
    /// Source: fallocate(2), FALLOC_FL_KEEP_SIZE; sqlite.org/wal.html: the log is not cut while the catalog is open.
    package func reserveRoom(_ size: Int64) {
        _ = try? write { _ in writeOutLog(size) }
        let end = lseek(file.descriptor, 0, SEEK_END)
        if end >= 0 { _ = clinux_allocate(file.descriptor, CLINUX_ALLOCATE_KEEP_SIZE, Int64(end), size / 4) }
    }

    /// The log begins anew from its start. Up to `size` its blocks are written once, so that fdatasync(2) has only to
    /// write over them: zeros, which no frame begins with (sqlite.org/fileformat2.html, 4.1: its salt is the header's).
    /// In a transaction: nobody else makes the log longer.
    private func writeOutLog(_ size: Int64) {
        let log = open(path + "-wal", O_RDWR | O_CLOEXEC)
        guard log >= 0 else { return }
        defer { Foundation.close(log) }
        guard clinux_allocate(log, CLINUX_ALLOCATE_KEEP_SIZE, 0, size) == 0 else { return }
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        var end = Int64(lseek(log, 0, SEEK_END))
        while end >= 0, end < size {
            let count = pwrite(log, zeros, min(zeros.count, Int(size - end)), off_t(end))
            guard count > 0 else { return }
            end += Int64(count)
        }
    }

    /// After this returns, what was committed before survives power loss: the write-ahead log is on disk.
    package func synchronize() throws(CatalogError) {
        // (Who syncs a file syncs its folder next: another flush of the disk's memory, for nothing.)
        let committed = commits.load(ordering: .acquiring)
        if durableCommits.load(ordering: .acquiring) == committed { return }
        do { try log.synchronize() } catch {
            throw CatalogError(.system, "\(path)-wal: \(String(cString: strerror(error.code)))")
        }
        durableCommits.max(committed, ordering: .releasing)
    }

    /// Gives up what of the database is in memory; it is read again when it is needed.
    ///
    /// Source: sqlite.org/pragma.html#pragma_shrink_memory.
    package func releaseMemory() {
        guard (try? users.enter(path)) != nil else { return }
        defer { users.leave() }
        try? inTurn { try writer.writeWithoutTransaction { try $0.execute(sql: "PRAGMA shrink_memory") } }
        readers.releaseMemory()
    }

    /// Gives the disk back what deletions have left free, where that is most of the catalog: what is left is written anew,
    /// for which nobody can commit. A log that has become long is cut.
    ///
    /// Source: sqlite.org/lang_vacuum.html, sqlite.org/c3ref/wal_checkpoint_v2.html.
    ///
    /// - Returns: whether something was given back; then also the room that was set aside (``reserveRoom(_:)``).
    package func compact() throws(CatalogError) -> Bool {
        try users.enter(path)
        defer { users.leave() }
        do {
            return try inTurn {
                try writer.writeWithoutTransaction { db in
                    let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                    let free = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
                    let isSparse = free >= Self.leastFree && free >= pages / 2 && pages - free <= Self.mostRewritten
                    if isSparse { try db.execute(sql: "VACUUM") }
                    guard isSparse || log.size > 2 * Self.usualLog else { return false }
                    // Not where it would have to wait for somebody who looks: the next time is soon enough.
                    sqlite3_busy_timeout(db.sqliteConnection, 0)
                    defer { sqlite3_busy_timeout(db.sqliteConnection, Self.patience * 1_000) }
                    checkpointer.apart {
                        sqlite3_wal_checkpoint_v2(db.sqliteConnection, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
                    }
                    return true
                }
            }
        } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    /// In pages: less is taken by what comes next.
    private static let leastFree = 2_048
    /// In pages, what takes a few tenths of a second.
    private static let mostRewritten = 16_384
    /// In bytes: longer it need not be kept when it begins anew.
    private static let usualLog: Int64 = 16 << 20
    /// In seconds, with another program that looks into the catalog.
    private static let patience: Int32 = 5

    /// Waits for whoever is at work in it; whoever comes later gets an error.
    package func close() {
        users.shut()
        queries.clear()
        checkpointer.close()
        readers.close()
        try? writer.close()
    }

    static func translate(_ error: any Error, path: String) -> CatalogError {
        if let error = error as? CatalogError { return error }
        if let error = error as? DatabaseError {
            switch error.resultCode {
            case .SQLITE_FULL: return CatalogError(.diskFull, "\(path): no space left on its disk")
            case .SQLITE_CORRUPT, .SQLITE_NOTADB:
                return CatalogError(
                    .damaged,
                    "\(path): the catalog is damaged (\(error.message ?? "unreadable")); "
                        + "unmounted, hydrant rescue \((path as NSString).deletingLastPathComponent) TARGET brings modified "
                        + "documents to TARGET; then move the state directory aside to start afresh"
                )
            default: return CatalogError(.system, "\(path): \(error.message ?? "SQLite error \(error.resultCode)")")
            }
        }
        return CatalogError(.system, "\(path): \(error)")
    }
}
