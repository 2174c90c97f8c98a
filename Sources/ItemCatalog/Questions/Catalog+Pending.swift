package import FileProvider
import GRDB
package import Trees

/// Pending changes, and when to look at each again.
extension Catalog.Reader {
    private static let next = Query(
        """
        SELECT \(itemColumns), p.identifier AS parent_identifier FROM item t LEFT JOIN item p ON p.id = t.local_parent
        WHERE t.pending = 1 AND t.ready_at <= ?1 AND t.retry_at <= ?1
            AND (t.local_parent IS NULL OR p.identifier IS NOT NULL
                OR (t.identifier IS NULL AND t.attempted_parent IS NOT NULL
                    AND (t.attempted_parent <> t.local_parent OR t.attempted_name <> t.local_name)))
            AND NOT EXISTS (
                SELECT 1 FROM conflict c JOIN item o ON o.id = c.original
                WHERE c.copy = -t.id AND o.local_content <> 0)
        ORDER BY t.ready_at, t.id LIMIT ?2
        """)

    package func pendingItems(
        at moment: FileTime, limit: Int
    ) throws -> [(item: ItemRecord, parent: ItemIdentifier?)] {
        try all(Self.next) { bindings in
            bindings.add(moment.nanoseconds)
            bindings.add(Int64(limit))
        } _: {
            (Self.item($0), $0.text(Self.itemColumnCount).map { ItemIdentifier($0) })
        }
    }

    /// Whether items are arriving in, leaving or changed in the folder, and will be sent at once or at the next try.
    /// Changes that may wait for ever do not count: a program is still writing, the store refuses them, a database is
    /// in use, or so many tries have failed that the next one is far away.
    package func hasUnsentChildren(_ folder: ItemID, at moment: FileTime, lasting: [String]) throws -> Bool {
        let isUnsent =
            "pending = 1 AND ready_at < \(FileTime.farFuture.nanoseconds) AND retry_at < ?"
            + " AND (error_code IS NULL OR error_code NOT IN ('held'" + lasting.map { _ in ", ?" }.joined() + "))"
        func isAny(_ sql: String, _ ids: Int) throws -> [(Bool, Int64)] {
            try all(sql: sql) { bindings in
                for _ in 0..<ids { bindings.add(folder.rawValue) }
                bindings.add(moment.adding(seconds: 60).nanoseconds)
                for code in lasting { bindings.add(code) }
            } _: {
                ($0.bool(0), $0.int(1))
            }
        }
        var isLarge = false
        for place in ["t.local_parent = ?1", Self.isRemote(in: "?1")] {
            let some =
                "SELECT pending, ready_at, retry_at, error_code FROM item t WHERE \(place) LIMIT \(Self.fewChildren)"
            let found = try isAny("WITH some AS (\(some)) SELECT MAX(\(isUnsent)), COUNT(*) FROM some", 1)
            if found.contains(where: { $0.0 }) { return true }
            if found.contains(where: { $0.1 >= Self.fewChildren }) { isLarge = true }
        }
        // In a large folder most children have been sent long ago; the first unsent ones decide.
        guard isLarge else { return false }
        let sql =
            "SELECT 1, 0 FROM item INDEXED BY item_ready WHERE (local_parent = ? OR remote_parent = ?) AND \(isUnsent) LIMIT 1"
        return try !isAny(sql, 2).isEmpty
    }
    private static let fewChildren: Int64 = 1_000

    private static let newRemoteChildren = Query(
        // An item that the store moved into the folder, and nobody here has touched, counts as new too.
        """
        SELECT MAX(t.base_parent IS NULL OR (
            t.alike & 1 AND (t.remote_parent IS NOT t.local_parent OR t.remote_name IS NOT t.local_name)))
        FROM item t WHERE \(isRemote(in: "?1"))
        """)

    package func hasNewRemoteChildren(_ folder: ItemID) throws -> Bool? {
        try first(Self.newRemoteChildren) {
            $0.add(folder.rawValue)
        } _: {
            $0.intOrNil(0).map { $0 != 0 }
        } ?? nil
    }

    private static let newChild = Query(
        "SELECT 1 FROM item WHERE local_parent = ? AND pending = 1 AND identifier IS NULL LIMIT 1")

    /// Whether the folder contains items, or items were made in it, that the store does not have yet.
    package func hasNewChildren(_ folder: ItemID) throws -> Bool {
        try exists(Self.newChild) { $0.add(folder.rawValue) }
    }

    private static let everyPending = itemQuery("t.pending = 1 ORDER BY t.id LIMIT ?")
    private static let pendingToSend = itemQuery(
        """
        t.pending = 1 AND NOT (t.local_parent IS NULL AND t.attempted_parent IS NULL
            AND (t.identifier IS NULL OR t.remote_parent IS NULL))
        ORDER BY t.id LIMIT ?
        """)
    private static let anyPending = Query("SELECT 1 FROM item WHERE pending = 1 LIMIT 1")

    /// All pending changes, at most `limit`.
    package func allPending(limit: Int) throws -> [ItemRecord] {
        try items(Self.everyPending) { $0.add(Int64(limit)) }
    }

    /// All pending changes that the store will be told of, for people; at most `limit`. Items that were made and
    /// removed again before they were sent do not count.
    package func pendingForPeople(limit: Int) throws -> [ItemRecord] {
        try items(Self.pendingToSend) { $0.add(Int64(limit)) }
    }

    package func hasPending() throws -> Bool { try exists(Self.anyPending) { _ in } }

    private static let pendingWithin = Query(
        """
        WITH RECURSIVE within(id) AS (
            SELECT ? UNION SELECT t.id FROM within CROSS JOIN item t ON t.local_parent = within.id
            UNION SELECT t.id FROM within CROSS JOIN item t ON t.own_base_parent = within.id
                WHERE t.local_parent IS NULL)
        SELECT t.id FROM within CROSS JOIN item t ON t.id = within.id WHERE t.pending = 1
        """)

    /// The pending items among an item and its descendants, including those deleted on this machine.
    package func pending(within item: ItemID) throws -> [ItemID] {
        try all(Self.pendingWithin) {
            $0.add(item.rawValue)
        } _: {
            ItemID(rawValue: $0.int(0))
        }
    }

    private static let nextReady = Query("SELECT MIN(ready_at) FROM item WHERE pending = 1 AND ready_at > ?")
    private static let nextRetry = Query(
        "SELECT MIN(retry_at) FROM item WHERE pending = 1 AND retry_at > 0 AND retry_at > ?")

    /// When to look next for a pending change that may not be sent yet; nil when no change waits for a moment. The
    /// change may have to wait for its next try even then.
    package func nextMoment(after moment: FileTime) throws -> FileTime? {
        let moments = try [Self.nextReady, Self.nextRetry].compactMap { query in
            try first(query) {
                $0.add(moment.nanoseconds)
            } _: {
                $0.intOrNil(0)
            } ?? nil
        }
        return moments.min().flatMap { $0 == FileTime.farFuture.nanoseconds ? nil : FileTime(nanoseconds: $0) }
    }
}
