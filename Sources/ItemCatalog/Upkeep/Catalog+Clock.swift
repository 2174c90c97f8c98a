package import FileProvider
import GRDB
import Trees

/// Moments in the catalog are wall-clock times, because they must hold over a restart. The wall clock may be set back:
/// a change due in a second would then wait for as long as the clock was ahead.
extension Catalog {
    /// In seconds: the longest delay that ``Catalog/Writer/postpone(_:seconds:)`` is asked for.
    package static let longestPostponement = 600.0
}

extension Catalog.Reader {
    private static let settlingTooLong = Query(
        "SELECT 1 FROM item WHERE pending = 1 AND ready_at > ? AND ready_at < ? LIMIT 1")
    private static let retriedTooLate = Query(
        "SELECT 1 FROM item WHERE pending = 1 AND retry_at > 0 AND retry_at > ? LIMIT 1")

    /// Whether a pending change waits longer than these limits.
    ///
    /// - Parameters:
    ///   - settle: the longest wait before a change is first sent, in seconds.
    ///   - retry: the longest wait from a failure to the next try, in seconds.
    ///   - date: the clock.
    package func waitsTooLong(
        settle: Double, retry: Double, date: () -> FileTime = { .now }
    ) throws -> Bool {
        // Check twice: a change may have been made between reading the clock and the first check. The second check is
        // safe, because this transaction's view does not change.
        try waitsTooLong(at: date(), settle, retry) && waitsTooLong(at: date(), settle, retry)
    }

    private func waitsTooLong(at moment: FileTime, _ settle: Double, _ retry: Double) throws -> Bool {
        let isSettling = try exists(Self.settlingTooLong) {
            $0.add(moment.adding(seconds: settle).nanoseconds)
            $0.add(FileTime.farFuture.nanoseconds)
        }
        return try isSettling || exists(Self.retriedTooLate) { $0.add(moment.adding(seconds: retry).nanoseconds) }
    }

    private static let usedLater = Query("SELECT 1 FROM inode WHERE kind = 0 AND here > 0 AND used > ? LIMIT 1")

    /// Whether a document on this machine was used at a moment that lies in the future.
    package func isUsedAhead(of moment: FileTime) throws -> Bool {
        try exists(Self.usedLater) { $0.add(moment.nanoseconds) }
    }
}

extension Catalog.Writer {
    /// Sets future moments of use to now. Otherwise these documents would be evicted last for as long as the clock was
    /// ahead, however long nobody has used them.
    package func takeBackUse() throws {
        try db.execute(
            sql: "UPDATE inode SET used = ? WHERE kind = 0 AND here > 0 AND used > ?",
            arguments: [now.nanoseconds, now.nanoseconds])
    }
}
