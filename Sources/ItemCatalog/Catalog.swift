import CLinux
import CSQLite
package import FileProvider
import Foundation
import GRDB
import GRDBSQLite
import Locking
import Synchronization
package import Trees

/// The catalog of one domain: inodes, names, items and the three trees, in one SQLite file.
///
/// Safe from any thread. A method that changes something has committed when it returns: the change survives SIGKILL of
/// this process; it survives power loss only after ``synchronize()``. Nothing here waits for the network.
package final class Catalog: Sendable {
    /// The connection that writes.
    private let writer: DatabaseQueue
    /// Serializes use of `writer`, for a whole transaction each. Not a `Mutex`: its waiters would spin, and it passes
    /// from one waiting thread to the next (FUTEX_LOCK_PI), at a context switch each.
    private let turn = NSLock()
    private let readers: ReaderPool
    private let users = CatalogUsers()
    package let path: String
    package var exclusions: Exclusions { kept.exclusions }
    package var hold: DeletionHold { kept.hold }
    /// For ``reserveRoom(_:)``. Stays open longer than SQLite's own descriptors: closing any descriptor of a file drops
    /// all locks that the process holds on the file (fcntl(2)). Another program that opens the catalog would then
    /// believe that it is the last user and delete the log under us (sqlite.org/howtocorrupt.html, 2.2).
    private let file: HeldFile
    private let log: HeldLog
    private let commits = Atomic<Int>(0)
    /// The number of commits known to be on disk.
    private let durableCommits = Atomic<Int>(-1)
    private let kept: Kept
    var indexedNames: IndexedNames { kept.indexedNames }
    private let queries = PreparedQueries.Table()
    private let checkpointer: Checkpointer
    private let rowWatch = RowWatch()
    private struct WeakObserver: Sendable { weak var observer: (any CommitObserver)? }
    private let observer = AdaptiveMutex(WeakObserver())
    struct WeakCarried: Sendable { weak var changes: (any WaitingChanges)? }
    let carried = AdaptiveMutex(WeakCarried())
    /// The thread that has the turn; 0: none.
    private let turnHolder = Atomic<UInt>(0)
    var isUsedByThisThread: Bool { turnHolder.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Opens or creates the catalog of `domain` at `path`.
    ///
    /// - Parameters:
    ///   - domain: the domain that the catalog belongs to (`dir:/STORE`); a catalog of another domain is refused.
    ///   - owner: the owner of files in a new catalog, beginning with the root.
    ///   - date: the clock of changes and of waits.
    package init(
        path: String, domain: String, owner: (uid: UInt32, gid: UInt32), exclusions: Exclusions = Exclusions(),
        hold: DeletionHold = DeletionHold(), date: @escaping @Sendable () -> FileTime = { .now }
    ) throws(CatalogError) {
        self.path = path
        kept = Kept(exclusions: exclusions, hold: hold, date: date)
        checkpointer = Checkpointer(path: path)
        log = HeldLog(path + "-wal")
        do {
            let isNew: Bool
            (writer, isNew) = try Self.openWriter(path)
            file = HeldFile(path)
            readers = ReaderPool(path: path, configuration: Self.configuration, queries: queries)
            try returnSpace(isNew: isNew)
            try writer.write { db in
                checkpointer.watch(db)
                if isNew {
                    let now = kept.date().nanoseconds
                    try db.execute(
                        sql: "UPDATE inode SET uid = ?, gid = ?, mtime = ? WHERE id = 1",
                        arguments: [owner.uid, owner.gid, now])
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

    /// Opens an existing catalog, of any domain. An older schema is migrated.
    package init(existing path: String) throws(CatalogError) {
        self.path = path
        kept = Kept(exclusions: Exclusions(), hold: DeletionHold(), date: { .now })
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
        // While another program reads the catalog, our writes wait instead of failing.
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
            // For new catalogs. Half of SQLite's default, because even a small change writes whole pages.
            try db.execute(sql: "PRAGMA page_size = 2048")
            try db.execute(sql: "PRAGMA journal_size_limit = \(usualLog)")
            // GRDB's own way creates and drops a table each time.
            try db.execute(sql: "PRAGMA journal_mode = WAL")
        }
        let writer = try DatabaseQueue(path: path, configuration: configuration)
        let isNew = try writer.read { try !$0.tableExists("domain") }
        try migrator.migrate(writer)
        return (writer, isNew)
    }

    /// Gives the disk back what a migration has freed, if there is room to do that; else the next time.
    private func returnSpace(isNew: Bool) throws {
        let isFreed = "SELECT 1 FROM domain WHERE key = '\(Migrations.freed)'"
        guard try writer.read({ try Int.fetchOne($0, sql: isFreed) }) != nil else { return }
        writer.writeWithoutTransaction { db in
            do {
                if !isNew { try db.execute(sql: "VACUUM") }
                try db.execute(sql: "DELETE FROM domain WHERE key = '\(Migrations.freed)'")
                if !isNew { try db.checkpoint(.truncate) }
            } catch {}
        }
    }

    /// Runs once per process, before its first connection.
    private static let prepared: Void = {
        _ = csqlite_count_no_memory()
        _ = csqlite_gather_log_writes()
    }()

    /// A catalog of a newer version, or a damaged one that would need a migration, stays byte for byte as it is: even
    /// opening it for writing would change the file.
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

    /// Changes with every write. Earlier look-ups are valid while this number stays the same.
    package var edition: Int { commits.load(ordering: .relaxed) }

    /// Looks something up; sees every change made before the call.
    package func read<T>(_ body: (Reader) throws -> T) throws(CatalogError) -> T {
        settle()
        return try readNow(body)
    }

    func readNow<T>(_ body: (Reader) throws -> T) throws(CatalogError) -> T {
        try users.enter(path)
        defer { users.leave() }
        do {
            // Prefer the writing connection when it is free: its page cache has the latest writes. Each commit
            // invalidates the caches of all other connections.
            var result: Result<T, any Error>?
            if turn.try() {
                defer { turn.unlock() }
                result = Result { try holdingTurn { try writer.unsafeRead { try readTransaction($0, body) } } }
            }
            return try result?.get() ?? readers.read { try readTransaction($0, body) }
        } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    /// Like `read`, and nobody commits before it returns: this call waits for the writer, and later writers wait for
    /// it.
    package func readInTurn<T>(_ body: (Reader) throws -> T) throws(CatalogError) -> T {
        settle()
        return try readInTurnNow(body)
    }

    func readInTurnNow<T>(_ body: (Reader) throws -> T) throws(CatalogError) -> T {
        try users.enter(path)
        defer { users.leave() }
        do { return try inTurn { try writer.unsafeRead { try readTransaction($0, body) } } } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    /// Like `read`, on a read-only connection: however long `body` takes, no commit waits for it.
    package func readAside<T>(_ body: (Reader) throws -> T) throws(CatalogError) -> T {
        settle()
        try users.enter(path)
        defer { users.leave() }
        do { return try readers.read { try readTransaction($0, body) } } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    /// Calls `observer` with the rows that each transaction has changed, before the next commit. `observer` must only
    /// take a note. Ends with ``unwatchRows(_:)``.
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

    private func readTransaction<T>(_ db: Database, _ body: (Reader) throws -> T) throws -> T {
        let reader = Reader(db: db, queries.of(db))
        return try reader.inTransaction(Reader.begin) { try body(reader) }
    }

    /// Set once, before the first transaction that an observer has to learn of.
    package func observe(_ observer: any CommitObserver) { self.observer.withLock { $0.observer = observer } }

    /// Runs one transaction: when this returns, all of `body` is committed; when it throws, nothing is. The observer is
    /// told of the commit. When the disk is full `body` may run twice: changes that free space, deletions above all,
    /// must still be recorded.
    package func write<T>(_ body: (Writer) throws -> T) throws(CatalogError) -> T {
        try users.enter(path)
        defer { users.leave() }
        do { return try transaction(body) } catch {
            guard error.code == .diskFull else { throw error }
            // A checkpoint makes room in the log.
            _ = try? inTurn { try writer.writeWithoutTransaction { try $0.checkpoint(.restart) } }
            return try transaction(body)
        }
    }

    private static let mostAttempts = 256

    private func inTurn<T>(_ body: () throws -> T) throws -> T {
        try turn.withLock { try holdingTurn(body) }
    }

    private func holdingTurn<T>(_ body: () throws -> T) throws -> T {
        turnHolder.store(UInt(pthread_self()), ordering: .relaxed)
        defer { turnHolder.store(0, ordering: .relaxed) }
        return try body()
    }

    /// - Parameter attempts: how often changes that wait have made it fail.
    private func transaction<T>(
        _ body: (Writer) throws -> T, attempts: Int = 0
    ) throws(CatalogError) -> T {
        let observer = observer.withLock { $0.observer }
        let carried = carried.withLock { $0.changes }
        var begun: TreeTransaction?
        var (hasBegun, isRun) = (false, false)
        let result: T
        do {
            let counted = { (writer: Writer) in
                isRun = true
                return try body(writer)
            }
            result = try transaction(carried, counted) {
                begun = $0; observer?.begins($0)
            } makes: {
                hasBegun = true
            }
        } catch {
            if let begun { observer?.failed(begun) }
            if let carried, hasBegun, !isRun, error.code != .diskFull, attempts < Self.mostAttempts {
                carried.giveUp()
                return try transaction(body, attempts: attempts + 1)
            }
            throw error
        }
        if let observer, let begun { CommitNotices.carryOut { observer.committed(begun) } }
        return result
    }

    private func transaction<T>(
        _ carried: (any WaitingChanges)?, _ body: (Writer) throws -> T, _ begins: (TreeTransaction) -> Void,
        makes: () -> Void
    ) throws(CatalogError) -> T {
        do {
            // Counted also on failure; the cost is one unnecessary look-up.
            defer { commits.add(1, ordering: .releasing) }
            // GRDB would prepare BEGIN and COMMIT each time.
            return try inTurn {
                try writer.writeWithoutTransaction { db in
                    let transaction = Writer(db: db, queries.of(db), kept)
                    begins(transaction.transaction)
                    var isCommitted = false
                    defer { rowWatch.ended(isCommitted: isCommitted) }
                    var areMade: (() -> Void)?
                    let result = try transaction.inTransaction(Reader.beginToWrite) {
                        makes()
                        if let carried, !carried.isEmpty { areMade = try carried.make(in: transaction) }
                        return try body(transaction)
                    }
                    isCommitted = true
                    areMade?()
                    return result
                }
            }
        } catch {
            throw Catalog.translate(error, path: path)
        }
    }

    /// Reserves disk space for `size` bytes of changes. An eviction or an `rm`, which free space, can then still be
    /// recorded when others have filled the disk. Does nothing when the disk lacks even this space; call again later.
    ///
    /// Source: fallocate(2), FALLOC_FL_KEEP_SIZE; sqlite.org/wal.html: the log is not truncated while the catalog is
    /// open.
    package func reserveRoom(_ size: Int64) {
        _ = try? write { _ in writeOutLog(size) }
        let end = lseek(file.descriptor, 0, SEEK_END)
        if end >= 0 { _ = clinux_allocate(file.descriptor, CLINUX_ALLOCATE_KEEP_SIZE, Int64(end), size / 4) }
    }

    /// Restarts the log from its beginning. Writes its blocks up to `size` once, so that fdatasync(2) only overwrites
    /// blocks. Zeros are safe: no frame begins with them (sqlite.org/fileformat2.html, 4.1: a frame has the header's
    /// salt). Runs in a transaction, so that nobody else extends the log.
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

    /// When this returns, earlier commits survive power loss: the write-ahead log is on disk.
    package func synchronize() throws(CatalogError) {
        if let changes = carried.withLock({ $0.changes }), !changes.isEmpty { try write { _ in } }
        // Programs that sync a file sync its folder next; a second flush of the disk's cache would be useless.
        let committed = commits.load(ordering: .acquiring)
        if durableCommits.load(ordering: .acquiring) == committed { return }
        do { try log.synchronize() } catch {
            throw CatalogError(.system, "\(path)-wal: \(String(cString: strerror(error.code)))")
        }
        durableCommits.max(committed, ordering: .releasing)
    }

    /// Releases the database pages in memory; SQLite reads them again on demand.
    ///
    /// Source: sqlite.org/pragma.html#pragma_shrink_memory.
    package func releaseMemory() {
        guard (try? users.enter(path)) != nil else { return }
        defer { users.leave() }
        try? inTurn { try writer.writeWithoutTransaction { try $0.execute(sql: "PRAGMA shrink_memory") } }
        readers.releaseMemory()
    }

    /// Returns the space freed by deletions to the disk, if it is most of the catalog. This rewrites the rest, and
    /// nobody can commit meanwhile. Truncates a log that has become long.
    ///
    /// Source: sqlite.org/lang_vacuum.html, sqlite.org/c3ref/wal_checkpoint_v2.html.
    ///
    /// - Returns: whether space was returned; if so, the reserved space was returned too (``reserveRoom(_:)``).
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
                    // Do not wait for readers: the next call is soon enough.
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

    /// In pages: fewer free pages are left for the next changes.
    private static let leastFree = 2_048
    /// In pages; rewriting this many takes a few tenths of a second.
    private static let mostRewritten = 16_384
    /// In bytes: the log is truncated to this length when it restarts.
    private static let usualLog: Int64 = 16 << 20
    /// In seconds: how long to wait for another program that reads the catalog.
    private static let patience: Int32 = 5

    /// Waits for current users of the catalog; later calls get an error.
    package func close() {
        settle()
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
                        + "unmount, then run hydrant rescue \((path as NSString).deletingLastPathComponent) TARGET to copy "
                        + "modified documents to TARGET; then move the state directory aside to start afresh"
                )
            default: return CatalogError(.system, "\(path): \(error.message ?? "SQLite error \(error.resultCode)")")
            }
        }
        return CatalogError(.system, "\(path): \(error)")
    }
}
