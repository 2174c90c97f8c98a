import Dispatch
import GRDB
import GRDBSQLite
import Synchronization

/// Brings what is in the write-ahead log into the database while writers and readers go on. SQLite does it within the
/// commit that fills the log, by default, with two or three fsyncs for which that commit's program waits.
///
/// Source: sqlite.org/wal.html, sqlite.org/c3ref/wal_hook.html.
///
/// `@unchecked Sendable`: `connection` is used on `queue` only.
final class Checkpointer: @unchecked Sendable {
    /// In pages of the log, from which on it is worth it.
    private static let enough = 1_000
    /// Of so few that are left a commit takes care itself. Then nothing in the log is needed, and it begins anew: as long as
    /// it stays short, it is written over what it was before, which fdatasync(2) has less to do with than with a file that
    /// grows (0.17 instead of 0.4 ms for ten pages here).
    private static let few = 128
    /// Where the log has been so long before, a commit does it all itself: whoever writes without a pause keeps the log from
    /// beginning anew. (One commit alone may be longer, as that of a long listing, for which somebody waits.)
    private static let most = 16_384

    private let path: String
    private let queue = DispatchQueue(label: "catalog.checkpoint", qos: .utility)
    private var connection: DatabaseQueue?
    private let isRunning = Atomic(false)
    /// How long the log is to be before the next one: it begins anew only when nobody reads from it.
    private let next = Atomic(Checkpointer.enough)
    /// How long the log is.
    private let length = Atomic(0)
    /// How much of it the last one has brought over; 0: a commit need not look.
    private let done = Atomic(0)
    private let isClosed = Atomic(false)

    init(path: String) { self.path = path }

    /// Before the first commit on a connection that writes; it must not outlive this.
    func watch(_ db: Database) {
        sqlite3_wal_hook(
            db.sqliteConnection,
            { context, connection, _, pages in
                let checkpointer = Unmanaged<Checkpointer>.fromOpaque(context!).takeUnretainedValue()
                checkpointer.grew(to: Int(pages), connection)
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque())
    }

    private func grew(to pages: Int, _ writer: SQLiteConnection?) {
        let before = length.exchange(pages, ordering: .relaxed)
        if pages < Self.enough {
            // It began anew.
            next.store(Self.enough, ordering: .relaxed)
            done.store(0, ordering: .relaxed)
        }
        let done = done.load(ordering: .relaxed)
        if min(before, pages) >= Self.most || (done > 0 && pages - done <= Self.few) {
            self.done.store(0, ordering: .relaxed)
            next.store(pages + Self.enough, ordering: .relaxed)
            sqlite3_wal_checkpoint_v2(writer, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        } else if pages >= next.load(ordering: .relaxed), !isRunning.exchange(true, ordering: .acquiring) {
            next.store(pages + Self.enough, ordering: .relaxed)
            queue.async { [self] in
                checkpoint()
                isRunning.store(false, ordering: .releasing)
            }
        }
    }

    /// What fails is tried again by a later commit.
    private func checkpoint() {
        guard !isClosed.load(ordering: .acquiring) else { return }
        if connection == nil {
            var configuration = Configuration()
            configuration.label = "catalog.checkpoint"
            connection = try? DatabaseQueue(path: path, configuration: configuration)
        }
        connection?.writeWithoutTransaction { db in
            // Again for what was committed meanwhile: each time that is less.
            for _ in 0..<3 {
                var pages: Int32 = 0
                sqlite3_wal_checkpoint_v2(db.sqliteConnection, nil, SQLITE_CHECKPOINT_PASSIVE, nil, &pages)
                done.store(Int(pages), ordering: .relaxed)
                if length.load(ordering: .relaxed) - Int(pages) <= Self.few { break }
            }
        }
    }

    /// Runs `body` while none is under way, which would be in its way.
    func apart(_ body: () -> Void) { queue.sync(execute: body) }

    /// Returns when none is under way, and none will be.
    func close() {
        isClosed.store(true, ordering: .releasing)
        queue.sync {
            try? connection?.close()
            connection = nil
        }
    }
}
