import Dispatch
import GRDB
import GRDBSQLite
import Synchronization

/// Copies the write-ahead log into the database while writers and readers go on. By default SQLite does this in the
/// commit that fills the log, with two or three fsyncs that this commit's program waits for.
///
/// Source: sqlite.org/wal.html, sqlite.org/c3ref/wal_hook.html.
///
/// `@unchecked Sendable`: `connection` is used on `queue` only.
final class Checkpointer: @unchecked Sendable {
    /// In pages of the log: a shorter log is not worth a checkpoint.
    private static let enough = 1_000
    /// When no more pages than this remain, a commit copies them itself. The log is then no longer needed and restarts:
    /// a short log is overwritten in place, which costs fdatasync(2) less than a growing file (0.17 instead of 0.4 ms
    /// for ten pages here).
    private static let few = 128
    /// When the log was this long before, a commit checkpoints all of it itself: a program that writes without pause
    /// keeps the log from restarting. A single commit may be longer, such as a long listing that somebody waits for.
    private static let most = 16_384

    private let path: String
    private let queue = DispatchQueue(label: "catalog.checkpoint", qos: .utility)
    private var connection: DatabaseQueue?
    private let isRunning = Atomic(false)
    /// The length of the log for the next checkpoint: the log restarts only when nobody reads from it.
    private let next = Atomic(Checkpointer.enough)
    /// The length of the log.
    private let length = Atomic(0)
    /// How much of the log the last checkpoint copied; 0: a commit need not check.
    private let done = Atomic(0)
    private let isClosed = Atomic(false)

    init(path: String) { self.path = path }

    /// Call before the first commit on a writing connection; the connection must not outlive this object.
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
            // The log restarted.
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

    /// A later commit retries a failed checkpoint.
    private func checkpoint() {
        guard !isClosed.load(ordering: .acquiring) else { return }
        if connection == nil {
            var configuration = Configuration()
            configuration.label = "catalog.checkpoint"
            connection = try? DatabaseQueue(path: path, configuration: configuration)
        }
        connection?.writeWithoutTransaction { db in
            // Repeat for the commits made meanwhile: each round has less to copy.
            for _ in 0..<3 {
                var pages: Int32 = 0
                sqlite3_wal_checkpoint_v2(db.sqliteConnection, nil, SQLITE_CHECKPOINT_PASSIVE, nil, &pages)
                done.store(Int(pages), ordering: .relaxed)
                if length.load(ordering: .relaxed) - Int(pages) <= Self.few { break }
            }
        }
    }

    /// Runs `body` while no checkpoint is in progress.
    func apart(_ body: () -> Void) { queue.sync(execute: body) }

    /// Returns when no checkpoint is in progress and none will start.
    func close() {
        isClosed.store(true, ordering: .releasing)
        queue.sync {
            try? connection?.close()
            connection = nil
        }
    }
}
