import GRDB
package import Trees

extension Catalog.Reader {
    /// The local folders above an item, up to the root; empty when the item is gone.
    package func folders(above item: ItemID) throws -> [ItemID] {
        let statement = try db.cachedStatement(
            sql: """
                WITH RECURSIVE up(id) AS (
                    SELECT local_parent FROM item WHERE id = ? AND local_parent IS NOT NULL
                    UNION SELECT i.local_parent FROM item i JOIN up ON i.id = up.id WHERE i.local_parent IS NOT NULL)
                SELECT id FROM up
                """)
        return try Int64.fetchAll(statement, arguments: [item.rawValue]).map { ItemID(rawValue: $0) }
    }
}
