import FileProvider
package import Trees

/// Table `conflict`. A row is deleted with its original or its copy. A row is not shown while the deletion of its
/// original or copy is still to be sent.
///
/// In a row for a delayed deletion, the copy is the negated number of the item to delete.
extension Catalog.Reader {
    private static let shown = """
        FROM conflict c JOIN item o ON o.id = c.original JOIN inode oi ON oi.id = o.inode
        JOIN inode ci ON ci.id = c.copy
        WHERE o.local_parent IS NOT NULL AND oi.nlink > 0 AND ci.nlink > 0 AND oi.id <> ci.id
        """
    private static let columns = "SELECT c.id, c.original, c.copy, c.moment, c.reason"
    private static let everyConflict = Query("\(columns) \(shown) ORDER BY c.id")
    private static let conflictsOfInode = Query(
        "\(columns) \(shown) AND (c.copy = ? OR c.original = ?) ORDER BY c.id")
    private static let count = Query("SELECT COUNT(*) \(shown)")
    private static let delayed = Query("SELECT -copy FROM conflict WHERE original = ? AND copy < 0")

    private static func conflict(_ row: Columns) -> ConflictRecord {
        ConflictRecord(
            id: row.int(0), original: ItemID(rawValue: row.int(1)), copy: InodeID(rawValue: row.int(2)),
            moment: FileTime(nanoseconds: row.int(3)),
            reason: row.text(4).flatMap { ConflictReason(rawValue: $0) } ?? .bothChanged)
    }

    /// All unresolved conflicts, oldest first.
    package func conflicts() throws -> [ConflictRecord] { try all(Self.everyConflict, { _ in }) { Self.conflict($0) } }

    package func conflictCount() throws -> Int { try first(Self.count, { _ in }) { Int($0.int(0)) } ?? 0 }

    package func conflicts(of inode: InodeID) throws -> [ConflictRecord] {
        let item = try item(of: inode)?.id
        return try all(Self.conflictsOfInode) { bindings in
            bindings.add(inode.rawValue)
            bindings.add(item?.rawValue)
        } _: {
            Self.conflict($0)
        }
    }

    package func delayedDeletions(for original: ItemID) throws -> [ItemID] {
        try all(Self.delayed) {
            $0.add(original.rawValue)
        } _: {
            ItemID(rawValue: $0.int(0))
        }
    }
}

extension Catalog.Writer {
    private static let insertion = Query("INSERT INTO conflict (original, copy, moment, reason) VALUES (?, ?, ?, ?)")
    private static let pairDeletion = Query("DELETE FROM conflict WHERE original = ? AND copy = ?")
    private static let copyMove = Query("UPDATE conflict SET copy = ? WHERE copy = ?")
    private static let deletion = Query("DELETE FROM conflict WHERE id = ?")
    private static let delayedMove = Query("UPDATE conflict SET original = ? WHERE original = ? AND copy < 0")
    private static let delayedDeletion = Query("DELETE FROM conflict WHERE original = ? AND copy < 0")
    private static let itemDeletion = Query("DELETE FROM conflict WHERE original = ? OR copy = ?")
    private static let copyDeletion = Query(
        "DELETE FROM conflict WHERE copy = ? AND NOT EXISTS (SELECT 1 FROM inode WHERE id = conflict.copy)")

    private func insert(_ original: ItemID, _ copy: Int64, _ reason: String) throws {
        try run(Self.insertion) { bindings in
            bindings.add(original.rawValue)
            bindings.add(copy)
            bindings.add(now.nanoseconds)
            bindings.add(reason)
        }
    }

    private func run(_ query: Query, _ first: Int64, _ second: Int64) throws {
        try run(query) { bindings in
            bindings.add(first)
            bindings.add(second)
        }
    }

    package func insertConflict(original: ItemID, copy: InodeID, _ reason: ConflictReason) throws {
        try run(Self.pairDeletion, original.rawValue, copy.rawValue)
        try insert(original, copy.rawValue, reason.rawValue)
    }

    package func moveConflicts(from old: InodeID, to new: InodeID) throws {
        try run(Self.copyMove, new.rawValue, old.rawValue)
    }

    package func forgetConflict(_ id: Int64) throws { try run(Self.deletion) { $0.add(id) } }

    package func delayDeletion(of item: ItemID, until original: ItemID) throws {
        try insert(original, -item.rawValue, "resolved")
    }

    package func moveDelayedDeletions(from old: ItemID, to new: ItemID) throws {
        try run(Self.delayedMove, new.rawValue, old.rawValue)
    }

    package func forgetDelayedDeletions(for original: ItemID) throws {
        try run(Self.delayedDeletion) { $0.add(original.rawValue) }
    }

    /// The item is deleted: forgets its conflicts.
    func forgetConflicts(of item: ItemID) throws { try run(Self.itemDeletion, item.rawValue, -item.rawValue) }

    /// The inode is deleted: forgets its conflicts.
    func forgetConflicts(ofCopy inode: InodeID) throws { try run(Self.copyDeletion) { $0.add(inode.rawValue) } }
}
