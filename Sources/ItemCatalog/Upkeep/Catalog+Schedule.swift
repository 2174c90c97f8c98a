package import FileProvider
import GRDB
package import Trees

/// Schedules pending changes, many at once.
extension Catalog.Writer {
    /// Pending changes may be sent now: `hydrant sync` does not wait for settle times.
    ///
    /// - Parameter retrying: also failed changes, without waiting for their next try.
    package func settleNow(retrying: Bool) throws {
        try db.execute(
            sql: "UPDATE item SET ready_at = ? WHERE pending = 1 AND ready_at > ? AND ready_at < ?",
            arguments: [now.nanoseconds, now.nanoseconds, FileTime.farFuture.nanoseconds])
        guard retrying else { return }
        try db.execute(sql: "UPDATE item SET retry_at = 0 WHERE pending = 1 AND retry_at > 0")
    }

    /// `hydrant retry`: these pending changes, or all, are sent without waiting for their settle time or their next
    /// try.
    package func tryNow(_ items: [ItemID]?) throws {
        guard let items else { return try settleNow(retrying: true) }
        let ready = try db.cachedStatement(
            sql: "UPDATE item SET ready_at = ? WHERE id = ? AND pending = 1 AND ready_at > ? AND ready_at < ?")
        let retry = try db.cachedStatement(sql: "UPDATE item SET retry_at = 0 WHERE id = ? AND pending = 1")
        for item in items {
            try ready.execute(
                arguments: [
                    now.nanoseconds, item.rawValue, now.nanoseconds, FileTime.farFuture.nanoseconds,
                ])
            try retry.execute(arguments: [item.rawValue])
        }
    }

    /// Changes that failed for this reason are tried again at once.
    ///
    /// - Parameter later: retry these items at these moments instead, unless they are due earlier.
    package func retryNow(failedWith code: String, but later: [ItemID: FileTime] = [:]) throws {
        let waiting = try later.compactMap { id, moment in
            try item(id)?.failure.flatMap { $0.code == code ? (id, min(moment, $0.retryAt)) : nil }
        }
        try db.cachedStatement(sql: "UPDATE item SET retry_at = 0 WHERE pending = 1 AND error_code = ?")
            .execute(arguments: [code])
        for (id, moment) in waiting {
            try db.cachedStatement(sql: "UPDATE item SET retry_at = ? WHERE id = ?")
                .execute(arguments: [moment.nanoseconds, id.rawValue])
        }
    }
}
