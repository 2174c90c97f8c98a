import FileProvider
import GRDB

/// Deletions in the store that wait for a person. What is held has no place in the remote tree any more, and keeps the
/// other two: to a program nothing has happened, and nothing of it is pending.
extension Catalog.Reader {
    /// What is held; nil when nothing is.
    package func heldDeletions() throws -> HeldDeletions? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT COUNT(*) AS items, SUM(\(Self.isIncomplete)) AS incomplete, MIN(t.held_at) AS since
                FROM item t JOIN inode i ON i.id = t.inode WHERE t.held_at IS NOT NULL AND +t.local_parent IS NOT NULL
                """)
        guard let row = try Row.fetchOne(statement), row["items"] as Int > 0 else { return nil }
        return HeldDeletions(
            items: row["items"], incomplete: row["incomplete"], since: FileTime(nanoseconds: row["since"]))
    }

    /// Of a folder: that nobody has looked into it.
    private static let isIncomplete = "(i.kind = 0 AND i.extents IS NOT NULL) OR (i.kind = 1 AND i.enumerated = 0)"

    /// Held items, the oldest first.
    package func heldItems(limit: Int) throws -> [ItemRecord] {
        try fetchItems(
            where: "t.held_at IS NOT NULL AND +t.local_parent IS NOT NULL ORDER BY t.held_at, t.id LIMIT ?"
        ) { $0.add(Int64(limit)) }
    }

    /// What is held of an item and all that is in it; folders before what is in them.
    package func heldItems(within item: ItemID) throws -> [ItemRecord] {
        let sql = """
            WITH RECURSIVE within(id, depth) AS (
                SELECT ?, 0 UNION ALL
                SELECT c.id, depth + 1 FROM within CROSS JOIN item c ON c.local_parent = within.id AND c.id <> 1)
            SELECT \(Self.itemColumns) FROM within CROSS JOIN item t ON t.id = within.id
            WHERE t.held_at IS NOT NULL ORDER BY within.depth, t.id
            """
        return try all(sql: sql) {
            $0.add(item.rawValue)
        } _: {
            Self.item($0)
        }
    }

    /// Whether an item, or a folder that it is in, is held.
    package func isHeld(_ item: ItemRecord) throws -> Bool {
        var current: ItemRecord? = item
        while let row = current, row.id != .root {
            if row.heldSince != nil { return true }
            current = try row.local.flatMap { try self.item($0.parent) }
        }
        return false
    }

    /// Whether something right in the folder is held.
    func holdsSomething(_ folder: ItemID) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT 1 FROM item WHERE local_parent = ? AND held_at IS NOT NULL LIMIT 1")
        return try Row.fetchOne(statement, arguments: [folder.rawValue]) != nil
    }
}

extension Catalog.Writer {
    // MARK: Holding

    /// Which of the items that are gone from the store are to be held. They are all still in the remote tree.
    ///
    /// What has a successor at its place in the store, or none of whose bytes would go (it was deleted here as well, or
    /// is somebody's work, which stays anyway), does not count.
    func toBeHeld(_ gone: [ItemRecord]) throws -> Set<ItemID> {
        guard hold.percent < 100 else { return [] }
        let vanishing = try gone.filter { try vanishes($0) }
        guard !vanishing.isEmpty else { return [] }
        let before = try vanishedBefore()
        try countVanished(vanishing.count)
        // (To count what is known takes longer the more that is.)
        guard before + vanishing.count > hold.most else { return [] }
        let known = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM item WHERE remote_parent IS NOT NULL") ?? 0
        guard hold.isExceeded(by: before + vanishing.count, of: known - 1 + before) else { return [] }
        held += vanishing.count
        return Set(vanishing.map(\.id))
    }

    private func vanishes(_ row: ItemRecord) throws -> Bool {
        guard let local = row.local, row.inode != nil else { return false }
        if try row.isModified && !row.kind.isFolder && (row.contentRevision != 0 || isWhole(row.inode)) { return false }
        // (A folder goes on under its successor, with what is in it.)
        return try row.kind.isFolder || remoteOccupant(of: row.remote ?? local, otherThan: row.id) == nil
    }

    /// How many items the store deleted in the last while.
    private func vanishedBefore() throws -> Int {
        try takeBackVanished()
        try db.cachedStatement(sql: "DELETE FROM vanished WHERE moment < ?")
            .execute(arguments: [now.adding(seconds: -hold.window).nanoseconds])
        return try Int.fetchOne(db.cachedStatement(sql: "SELECT SUM(items) FROM vanished")) ?? 0
    }

    // MARK: Coming back

    /// The store has it (again): if it was held it is no more, and does not count as deleted.
    func comesBack(_ row: inout ItemRecord) throws {
        guard let moment = row.heldSince else { return }
        row.heldSince = nil
        returned += 1
        if row.kind.isFolder, let identifier = row.identifier { returnedFolders.append(identifier) }
        try db.cachedStatement(sql: "UPDATE vanished SET items = MAX(0, items - 1) WHERE moment = ?")
            .execute(arguments: [moment.nanoseconds])
    }

    /// The store has something under the name of what is held. Of the same kind, it is that again, under another
    /// identifier (a server that was restored) or in another version; another kind takes the name.
    func succeed(_ row: ItemRecord, _ held: ItemRecord, _ defaults: PlaceholderDefaults) throws {
        guard InodeKind(row.kind) == InodeKind(held.kind), let identifier = row.identifier else {
            try stepAside(held)
            return try attachNew(row, defaults)
        }
        try deleteItem(row.id)
        var again = held
        let before = again.remoteFacts.capabilities
        again.identifier = identifier
        again.kind = row.kind
        again.remote = row.remote
        again.base = row.remote
        again.remoteVersion = row.remoteVersion
        again.remoteFacts = row.remoteFacts
        try comesBack(&again)
        try update(again)
        try capabilitiesChanged(of: again, from: before)
        try db.cachedStatement(sql: "UPDATE item SET remote_parent = ? WHERE remote_parent = ?")
            .execute(arguments: [held.id.rawValue, row.id.rawValue])
        try reconcile([again.id], defaults: defaults)
    }

    /// What is held gives its name up to what the store has now; it goes on being held.
    func stepAside(_ held: ItemRecord) throws {
        guard var row = try item(held.id), row.inode != nil, let place = row.local,
            let folder = try item(place.parent)?.inode
        else { return }
        let name = try unusedName(like: place.name, in: folder)
        try moveName(place.name, in: folder, to: name, in: folder)
        row.local = TreePlace(parent: place.parent, name: name)
        row.base = row.local
        try update(row)
        changes += [.entry(folder: folder, name: place.name), .entry(folder: folder, name: name), .attributes(folder)]
    }

    // MARK: A person's word

    /// The deletions are carried out here. What was changed here since is somebody's work, and is made anew in the store.
    ///
    /// - Returns: how many items that were.
    package func carryOutDeletions(within item: ItemID, defaults: PlaceholderDefaults) throws -> Int {
        let held = try heldItems(within: item)
        for var row in held {
            row.heldSince = nil
            try update(row)
        }
        try reconcile(held.reversed().map(\.id), defaults: defaults)
        // Somebody has looked: what goes from now on is counted anew.
        if !held.isEmpty { try db.execute(sql: "DELETE FROM vanished") }
        return held.count
    }

    /// What is held is made anew in the store, with the folders that it is in. What is not here as a whole nobody can put
    /// back; it goes on being held.
    ///
    /// - Returns: how many items will be there, and how many cannot.
    package func putBack(within item: ItemID) throws -> (restored: Int, incomplete: Int) {
        let held = try heldItems(within: item)
        var restored = 0
        for row in held where try putBack(row.id) { restored += 1 }
        // (A folder that nobody has looked into goes with what is in it.)
        return (restored, try heldItems(within: item).count)
    }

    /// An item, and every held folder that it is in, is made anew.
    ///
    /// - Returns: false when the item is held, and there is nothing whole to make it from; nothing was changed then.
    package func putBack(_ id: ItemID) throws -> Bool {
        guard let row = try item(id), let inode = try row.inode.flatMap({ try inodeIfPresent($0) }) else { return true }
        if row.heldSince != nil, inode.extents != nil || (inode.isFolder && !inode.isEnumerated) { return false }
        var next: ItemRecord? = row
        while var current = next, current.id != .root {
            next = try current.local.flatMap { try item($0.parent) }
            guard current.heldSince != nil else { continue }
            current.becomesUnconfirmed(at: now)
            try update(current)
        }
        return true
    }
}
