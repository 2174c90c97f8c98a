import FileProvider
import GRDB
package import Trees

extension Catalog.Writer {
    package func unpinAll() throws { try db.execute(sql: "UPDATE item SET pinned = 0 WHERE pinned <> 0") }
}

/// Items that are kept downloaded whatever the cache limit: pinned items, and everything in pinned folders.
extension Catalog.Reader {
    /// Pinned items, `item` if given, and everything below them in the local tree.
    private static func kept(under item: ItemID?) -> String {
        """
        WITH RECURSIVE kept(id) AS (
            SELECT id FROM item WHERE \(item == nil ? "pinned <> 0" : "id = ?")
            UNION SELECT t.id FROM kept CROSS JOIN item t ON t.local_parent = kept.id)
        """
    }

    package func hasPins() throws -> Bool {
        try Row.fetchOne(try db.cachedStatement(sql: "SELECT 1 FROM item WHERE pinned <> 0 LIMIT 1")) != nil
    }

    /// Every pinned document, and every document in a pinned folder.
    package func pinnedInodes() throws -> Set<InodeID> {
        let statement = try db.cachedStatement(
            sql: Self.kept(under: nil)
                + " SELECT t.inode FROM kept CROSS JOIN item t ON t.id = kept.id WHERE t.kind = 0")
        return Set(try Int64?.fetchAll(statement).compactMap { $0.map(InodeID.init(rawValue:)) })
    }

    /// Folders that are pinned or in a pinned folder, and were never enumerated.
    package func unlistedPinnedFolders() throws -> [InodeID] {
        let statement = try db.cachedStatement(
            sql: Self.kept(under: nil) + """
                 SELECT i.id FROM kept CROSS JOIN item t ON t.id = kept.id CROSS JOIN inode i ON i.id = t.inode
                 WHERE i.kind = 1 AND t.excluded = 0 AND t.identifier IS NOT NULL AND i.enumerated = 0 ORDER BY i.id
                """)
        return try Int64.fetchAll(statement).map(InodeID.init(rawValue:))
    }

    /// Every folder that contains a pinned item, or is pinned with it.
    package func foldersOfPinned() throws -> [InodeID] {
        let statement = try db.cachedStatement(
            sql: Self.kept(under: nil) + """
                 SELECT DISTINCT p.inode FROM kept CROSS JOIN item t ON t.id = kept.id
                    CROSS JOIN item p ON p.id IN (t.id, t.local_parent)
                 WHERE p.kind = 1 AND p.inode IS NOT NULL
                """)
        return try Int64.fetchAll(statement).map(InodeID.init(rawValue:))
    }

    /// Pinned documents that are not fully downloaded, with the number of missing bytes.
    ///
    /// - Parameter item: answer as if only this item were pinned; nil: for all pins.
    package func missingPinned(under item: ItemID? = nil) throws -> [(inode: InodeID, bytes: Int64)] {
        let statement = try db.cachedStatement(
            sql: Self.kept(under: item) + """
                 SELECT i.id, MAX(0, i.size - i.here)
                 FROM kept CROSS JOIN item t ON t.id = kept.id CROSS JOIN inode i ON i.id = t.inode
                 WHERE i.kind = 0 AND i.extents IS NOT NULL AND t.excluded = 0 AND t.identifier IS NOT NULL
                     AND t.base_content IS NOT NULL AND t.held_at IS NULL
                 ORDER BY i.id
                """)
        return try Row.fetchAll(statement, arguments: item.map { [$0.rawValue] } ?? []).map {
            (InodeID(rawValue: $0[0]), $0[1])
        }
    }
}
