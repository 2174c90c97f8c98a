import FileProvider
import GRDB
package import Trees

/// Deletions in the store that wait for a person. A held item has no place in the remote tree any more, and keeps its
/// place in the base and local trees: programs see no change, and the item is not pending.
extension Catalog.Reader {
    /// A summary of the held items; nil when there are none.
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

    /// For a folder: nobody has listed it.
    private static let isIncomplete = "(i.kind = 0 AND i.extents IS NOT NULL) OR (i.kind = 1 AND i.enumerated = 0)"

    private static let oldest = itemQuery(
        "t.held_at IS NOT NULL AND +t.local_parent IS NOT NULL ORDER BY t.held_at, t.id LIMIT ?")

    /// Held items, oldest first.
    package func heldItems(limit: Int) throws -> [ItemRecord] { try items(Self.oldest) { $0.add(Int64(limit)) } }

    private static let withinItem = Query(
        """
        WITH RECURSIVE within(id, depth) AS (
            SELECT ?, 0 UNION ALL
            SELECT c.id, depth + 1 FROM within CROSS JOIN item c ON c.local_parent = within.id AND c.id <> 1)
        SELECT \(itemColumns) FROM within CROSS JOIN item t ON t.id = within.id
        WHERE t.held_at IS NOT NULL ORDER BY within.depth, t.id
        """)

    package func heldItems(within item: ItemID) throws -> [ItemRecord] {
        try items(Self.withinItem) { $0.add(item.rawValue) }
    }

    private static let anyInFolder = Query("SELECT 1 FROM item WHERE local_parent = ? AND held_at IS NOT NULL LIMIT 1")

    package func holdsSomething(_ folder: ItemID) throws -> Bool {
        try exists(Self.anyInFolder) { $0.add(folder.rawValue) }
    }
}
