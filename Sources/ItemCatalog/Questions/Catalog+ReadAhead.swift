package import FileProvider
package import Trees

/// A document's name in a folder's listing.
package struct ListedDocument: Sendable {
    package var inode: InodeID
    package var folder: InodeID
    /// The position in the listing.
    package var number: Int64
    package var name: Filename
    package var bytes: Int64
}

/// Candidates for read-ahead downloads.
extension Catalog.Reader {
    private static let next = Query(
        """
        SELECT i.id, n.id, n.name, i.size FROM (
            SELECT inode, id, name FROM name WHERE folder = ?1 AND id > ?2 ORDER BY id LIMIT 64) n
        JOIN inode i ON i.id = n.inode JOIN item t ON t.inode = i.id
        WHERE i.kind = 0 AND i.extents IS NOT NULL AND i.here = 0 AND i.size <= ?3 AND i.writing = 0 AND t.excluded = 0
            AND t.identifier IS NOT NULL AND t.base_content IS NOT NULL AND t.held_at IS NULL
        ORDER BY n.id
        """)

    /// Placeholder documents among the next 64 names after `number`, in the order of the folder's listing.
    package func placeholders(in folder: InodeID, after number: Int64, largest: Int64) throws -> [ListedDocument] {
        try all(Self.next) { bindings in
            bindings.add(folder.rawValue)
            bindings.add(number)
            bindings.add(largest)
        } _: {
            ListedDocument(
                inode: InodeID(rawValue: $0.int(0)), folder: folder, number: $0.int(1),
                name: Filename(bytes: $0.bytes(2) ?? []), bytes: $0.int(3))
        }
    }

    private static let listed = Query(
        "SELECT n.folder, n.id, n.name, i.size FROM name n JOIN inode i ON i.id = n.inode WHERE n.inode = ?1 LIMIT 1")

    /// A document's position in its folder's listing; if it has several names, any of them.
    package func listed(_ inode: InodeID) throws -> ListedDocument? {
        try all(Self.listed) {
            $0.add(inode.rawValue)
        } _: {
            ListedDocument(
                inode: inode, folder: InodeID(rawValue: $0.int(0)), number: $0.int(1),
                name: Filename(bytes: $0.bytes(2) ?? []), bytes: $0.int(3))
        }.first
    }
}
