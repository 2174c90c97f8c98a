package import FileProvider
import GRDB
import Trees

/// The moments in the catalog are those of the clock on the wall, since they are to hold over a restart. That clock may be
/// set back: what was to happen in a second would then wait for as long as the clock was ahead.
extension Catalog {
    /// In seconds: the longest that ``Catalog/Writer/postpone(_:seconds:)`` is asked for.
    package static let longestPostponement = 600.0
}

extension Catalog.Reader {
    private static let settlingTooLong = Query(
        "SELECT 1 FROM item WHERE pending = 1 AND ready_at > ? AND ready_at < ? LIMIT 1")
    private static let retriedTooLate = Query(
        "SELECT 1 FROM item WHERE pending = 1 AND retry_at > 0 AND retry_at > ? LIMIT 1")

    /// Whether a pending change is to wait longer than anything ever does.
    ///
    /// - Parameters:
    ///   - settle: the longest that one waits before it is first sent, in seconds.
    ///   - retry: the longest from a failure to the next try, in seconds.
    package func waitsTooLong(settle: Double, retry: Double) throws -> Bool {
        // Twice: a change may have been made between the first moment and the look. Not so the second time: what this
        // transaction sees does not change.
        try waitsTooLong(at: .now, settle, retry) && waitsTooLong(at: .now, settle, retry)
    }

    private func waitsTooLong(at moment: FileTime, _ settle: Double, _ retry: Double) throws -> Bool {
        let isSettling = try exists(Self.settlingTooLong) {
            $0.add(moment.adding(seconds: settle).nanoseconds)
            $0.add(FileTime.farFuture.nanoseconds)
        }
        return try isSettling || exists(Self.retriedTooLate) { $0.add(moment.adding(seconds: retry).nanoseconds) }
    }

    private static let usedLater = Query("SELECT 1 FROM inode WHERE kind = 0 AND here > 0 AND used > ? LIMIT 1")

    /// Whether a document that is here was used at a moment that has not come.
    package func isUsedAhead(of moment: FileTime) throws -> Bool {
        try exists(Self.usedLater) { $0.add(moment.nanoseconds) }
    }
}

extension Catalog.Writer {
    /// What was used at moments that have not come was used now: else it would be the last to be evicted for as long as
    /// the clock was ahead, however long nobody has used it.
    package func takeBackUse() throws {
        try db.execute(
            sql: "UPDATE inode SET used = ? WHERE kind = 0 AND here > 0 AND used > ?",
            arguments: [now.nanoseconds, now.nanoseconds])
    }
}
