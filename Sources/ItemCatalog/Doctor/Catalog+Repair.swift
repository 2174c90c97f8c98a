import FileProvider
import GRDB
package import Trees

/// Putting right what can be without a guess.
extension Catalog.Writer {
    package func repair(_ repair: CatalogFinding.Repair) throws {
        switch repair {
        case .setLinkCount(let inode, let count):
            try db.execute(sql: "UPDATE inode SET nlink = ? WHERE id = ?", arguments: [count, inode.rawValue])
        }
    }

    /// Every folder that the store knows is listed anew when somebody looks at it: what is missing here comes back.
    package func forgetListings() throws {
        try db.execute(
            sql: """
                UPDATE inode SET enumerated = 0 WHERE kind = 1 AND nlink > 0
                AND id IN (SELECT inode FROM item WHERE identifier IS NOT NULL AND excluded = 0)
                """)
    }

    /// The same for the folder that an item is in.
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
    /// What the catalog belongs to, as ``Catalog/init(path:domain:owner:exclusions:)`` was told.
    package func domain() throws -> String? {
        try String.fetchOne(db, sql: "SELECT value FROM domain WHERE key = 'domain'")
    }

    /// Every document, with whether its bytes are nowhere but here; one at a time.
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

    /// Every item that the store has confirmed, in the order in which they came.
    package func confirmedItems() throws -> [ItemRecord] {
        try items(Self.confirmed) { _ in }
    }
}
