import FileProvider
import GRDB
package import Trees

/// Repairs that need no guess.
extension Catalog.Writer {
    package func repair(_ repair: CatalogFinding.Repair) throws {
        switch repair {
        case .setLinkCount(let inode, let count):
            try db.execute(sql: "UPDATE inode SET nlink = ? WHERE id = ?", arguments: [count, inode.rawValue])
        }
    }

    /// Marks every folder of the store as not enumerated: the next look lists it again and brings missing items back.
    package func forgetListings() throws {
        try db.execute(
            sql: """
                UPDATE inode SET enumerated = 0 WHERE kind = 1 AND nlink > 0
                AND id IN (SELECT inode FROM item WHERE identifier IS NOT NULL AND excluded = 0)
                """)
    }

    /// The same for the folder of an item.
    package func forgetListing(of item: ItemID) throws {
        guard let row = try self.item(item),
            let parent = try (row.local ?? row.remote).flatMap({ try self.item($0.parent) }),
            let id = parent.inode, parent.identifier != nil, var folder = try inodeIfPresent(id), folder.isFolder
        else { return }
        folder.isEnumerated = false
        try update(folder)
    }
}

extension Catalog.Reader {
    /// The domain that was given to ``Catalog/init(path:domain:owner:exclusions:)``.
    package func domain() throws -> String? {
        try String.fetchOne(db, sql: "SELECT value FROM domain WHERE key = 'domain'")
    }

    /// Calls `body` for each document, and says whether its bytes exist only on this machine.
    package func forEachDocument(_ body: (InodeRecord, _ isOnlyHere: Bool) throws -> Void) throws {
        try forEach(
            sql: """
                SELECT \(Self.inodeColumns),
                    t.id IS NULL OR t.local_content <> 0 OR t.excluded <> 0 OR t.identifier IS NULL AS only_here
                FROM inode i LEFT JOIN item t ON t.inode = i.id WHERE i.kind = 0 AND i.nlink > 0
                """
        ) { _ in
        } _: {
            try body(Self.inode($0), $0.bool(Self.inodeColumnCount))
        }
    }

    private static let confirmed = itemQuery(
        "t.identifier IS NOT NULL AND t.id <> 1 AND t.remote_parent IS NOT NULL ORDER BY t.id")

    /// Every item that the store has confirmed, in the order of creation.
    package func confirmedItems() throws -> [ItemRecord] {
        try items(Self.confirmed) { _ in }
    }
}
