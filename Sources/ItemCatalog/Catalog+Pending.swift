package import FileProvider
import GRDB

/// One item whose local tree differs from base, with what a plan for it needs to know.
package struct PendingItem: Sendable, Equatable {
    package var item: ItemRecord
    /// The identifier of the folder it is to be in; nil when that folder is itself not confirmed.
    package var parentIdentifier: ItemIdentifier?
    /// Who has its place in the remote tree, if somebody has.
    package var occupant: ItemRecord?
    /// What the provider still has in it (folders that were deleted here).
    package var remoteChildren: RemoteChildren

    /// At the provider, the folder it is to be in is still inside it: that one must come out first.
    package var goesIntoItself = false
    /// And nobody here moves it out: the other side put it there, crosswise.
    package var staysInItself = false
    /// Something else may have been made in its place at the provider: that is found out first.
    package var placeIsDoubtful = false
    /// Of a folder with another mode or date: something in it is to be sent first. The mode may forbid it, and it gives the
    /// folder another date.
    package var hasUnsentChildren = false

    package enum RemoteChildren: Sendable {
        case none
        /// Only what is being deleted or moved away from here as well.
        case leaving
        /// Something that has never been shown here, or not in there: the provider has moved it into it.
        case new
    }

    package init(
        item: ItemRecord, parentIdentifier: ItemIdentifier?, occupant: ItemRecord?,
        remoteChildren: RemoteChildren
    ) {
        self.item = item
        self.parentIdentifier = parentIdentifier
        self.occupant = occupant
        self.remoteChildren = remoteChildren
    }
}

extension Catalog.Reader {
    /// The next pending changes that may be sent at `moment`, oldest first, at most `limit`.
    ///
    /// - Parameter lasting: codes of failures that do not pass by themselves: what failed by them keeps no folder waiting.
    package func pending(at moment: FileTime, limit: Int, lasting: [String] = []) throws -> [PendingItem] {
        let sql = """
            SELECT \(Self.itemColumns), p.identifier AS parent_identifier FROM item t LEFT JOIN item p ON p.id = t.local_parent
            WHERE t.pending = 1 AND t.ready_at <= ? AND t.retry_at <= ?
                AND (t.local_parent IS NULL OR p.identifier IS NOT NULL
                    OR (t.identifier IS NULL AND t.attempted_parent IS NOT NULL
                        AND (t.attempted_parent <> t.local_parent OR t.attempted_name <> t.local_name)))
                AND NOT EXISTS (
                    SELECT 1 FROM conflict c JOIN item o ON o.id = c.original
                    WHERE c.copy = -t.id AND o.local_content <> 0)
            ORDER BY t.ready_at, t.id LIMIT ?
            """
        let rows = try all(sql: sql) { bindings in
            bindings.add(moment.nanoseconds)
            bindings.add(moment.nanoseconds)
            bindings.add(Int64(limit))
        } _: {
            (Self.item($0), $0.text(Self.itemColumnCount).map { ItemIdentifier($0) })
        }
        return try rows.map { item, parent in
            var pending = PendingItem(
                item: item, parentIdentifier: parent,
                occupant: try item.local.flatMap { try remoteOccupant(of: $0, otherThan: item.id) },
                remoteChildren: item.kind.isFolder && item.local == nil
                    ? try remoteChildrenState(item.id) : .none)
            if item.local != item.base, let local = item.local {
                pending.placeIsDoubtful = try lostCreation(at: local) != nil
            }
            if item.kind.isFolder, item.local != item.base, item.identifier != nil, let local = item.local {
                pending.goesIntoItself = try isRemotelyInside(local.parent, item.id)
                if pending.goesIntoItself { pending.staysInItself = try !leaves(local.parent, item.id) }
            }
            if item.kind.isFolder, item.identifier != nil, item.metadataRevision != 0, item.local == item.base {
                pending.hasUnsentChildren = try hasUnsentChildren(item.id, at: moment, lasting: lasting)
            }
            return pending
        }
    }

    /// What comes, what goes, and what is changed in it, at once or after the next try. What a program is still writing may
    /// take for ever, as may what the store does not want, a database that is in use, or what failed so often that its
    /// next try is far away.
    private func hasUnsentChildren(_ folder: ItemID, at moment: FileTime, lasting: [String]) throws -> Bool {
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
        for place in ["local_parent", "remote_parent"] {
            let some =
                "SELECT pending, ready_at, retry_at, error_code FROM item WHERE \(place) = ? LIMIT \(Self.fewChildren)"
            let found = try isAny("WITH some AS (\(some)) SELECT MAX(\(isUnsent)), COUNT(*) FROM some", 1)
            if found.contains(where: { $0.0 }) { return true }
            if found.contains(where: { $0.1 >= Self.fewChildren }) { isLarge = true }
        }
        // Of many most have been sent long ago; what has not is among the first that are to be.
        guard isLarge else { return false }
        let sql =
            "SELECT 1, 0 FROM item INDEXED BY item_ready WHERE (local_parent = ? OR remote_parent = ?) AND \(isUnsent) LIMIT 1"
        return try !isAny(sql, 2).isEmpty
    }
    private static let fewChildren: Int64 = 1_000

    /// Whether something is in it here, or was made in it, that the store does not have yet.
    package func hasNewChildren(_ folder: ItemID) throws -> Bool {
        try !all(sql: "SELECT 1 FROM item WHERE local_parent = ? AND pending = 1 AND identifier IS NULL LIMIT 1") {
            $0.add(folder.rawValue)
        } _: { _ in
            true
        }.isEmpty
    }

    /// Whether `inner` is `outer` or below it, in the remote tree.
    package func isRemotelyInside(_ inner: ItemID, _ outer: ItemID) throws -> Bool {
        var current: ItemID? = inner
        var steps = 0
        while let id = current, id != .root, steps < 4_096 {
            if id == outer { return true }
            current = try item(id)?.remote?.parent
            steps += 1
        }
        return false
    }

    /// Of an item that is in another in the remote tree: whether it, or a folder between the two, is being moved here.
    private func leaves(_ inner: ItemID, _ outer: ItemID) throws -> Bool {
        var current = try item(inner)
        while let row = current, row.id != outer {
            if row.local != row.base { return true }
            current = try row.remote.flatMap { try item($0.parent) }
        }
        return false
    }

    private func remoteChildrenState(_ id: ItemID) throws -> PendingItem.RemoteChildren {
        let statement = try db.cachedStatement(
            // (What the store has moved into it, and nobody has touched here, is new as well.)
            sql: """
                SELECT MAX(base_parent IS NULL OR (
                    local_parent IS NOT NULL AND local_parent IS base_parent AND local_name IS base_name
                    AND (remote_parent IS NOT base_parent OR remote_name IS NOT base_name)))
                FROM item WHERE remote_parent = ?
                """)
        switch try Bool.fetchOne(statement, arguments: [id.rawValue]) {
        case nil: return try lostCreations(in: id) ? .leaving : .none
        case false: return .leaving
        // (What is new may be what was made from here: that is found out first.)
        case true: return try lostCreations(in: id) ? .leaving : .new
        }
    }

    /// Every pending change; at most `limit`.
    package func allPending(limit: Int) throws -> [ItemRecord] {
        try fetchItems(where: "t.pending = 1 ORDER BY t.id LIMIT ?") { $0.add(Int64(limit)) }
    }

    /// Every pending change that the store will hear of, for people; at most `limit`. What was made and removed again
    /// before it was sent is none.
    package func pendingForPeople(limit: Int) throws -> [ItemRecord] {
        try fetchItems(
            where: """
                t.pending = 1 AND NOT (t.local_parent IS NULL AND t.attempted_parent IS NULL
                    AND (t.identifier IS NULL OR t.remote_parent IS NULL))
                ORDER BY t.id LIMIT ?
                """
        ) { $0.add(Int64(limit)) }
    }

    package func hasPending() throws -> Bool {
        try Row.fetchOne(db, sql: "SELECT 1 FROM item WHERE pending = 1 LIMIT 1") != nil
    }

    private static let nextReady = Query("SELECT MIN(ready_at) FROM item WHERE pending = 1 AND ready_at > ?")
    private static let nextRetry = Query(
        "SELECT MIN(retry_at) FROM item WHERE pending = 1 AND retry_at > 0 AND retry_at > ?")

    /// When to look next for a pending change that may not be sent yet (that one may still have to wait for its next
    /// try then); nil when none waits for a moment.
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
