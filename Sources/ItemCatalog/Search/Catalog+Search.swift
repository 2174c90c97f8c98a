package import FileProvider
package import Trees

/// Queries of a search: each answers in parts, so that no snapshot of the catalog is held for long and the log can
/// restart.
extension Catalog.Reader {
    private static let byNumber = Query(
        """
        SELECT \(SearchRow.columns) FROM name n CROSS JOIN inode i ON i.id = n.inode
        LEFT JOIN item t ON t.inode = i.id WHERE n.id = ?
        """)

    /// The name with this number; nil when it is gone.
    package func searchRow(_ number: Int64) throws -> SearchRow? {
        try first(Self.byNumber) {
            $0.add(number)
        } _: {
            SearchRow($0)
        }
    }

    private static let byInode = Query(
        """
        SELECT \(SearchRow.columns) FROM name n CROSS JOIN inode i ON i.id = n.inode
        LEFT JOIN item t ON t.inode = i.id WHERE n.inode = ?
        """)

    /// Every name of an inode.
    package func searchRows(of inode: InodeID) throws -> [SearchRow] {
        try all(Self.byInode) {
            $0.add(inode.rawValue)
        } _: {
            SearchRow($0)
        }
    }

    private static let byFolder = Query(
        """
        SELECT \(SearchRow.columns) FROM name n INDEXED BY name_folder CROSS JOIN inode i ON i.id = n.inode
        LEFT JOIN item t ON t.inode = i.id WHERE n.folder = ? AND n.id > ? ORDER BY n.id LIMIT ?
        """)

    /// The children of a folder after `number` (nil: from the beginning).
    package func searchRows(in folder: InodeID, after number: Int64?, limit: Int) throws -> [SearchRow] {
        try all(Self.byFolder) { bindings in
            bindings.add(folder.rawValue)
            bindings.add(number ?? .min)
            bindings.add(Int64(limit))
        } _: {
            SearchRow($0)
        }
    }

    private static let byBounds = Query(
        """
        SELECT \(SearchRow.columns) FROM inode i CROSS JOIN name n ON n.inode = i.id
        LEFT JOIN item t ON t.inode = i.id
        WHERE i.id > ?1 AND i.id <= ?2
            AND (?3 IS NULL OR (i.kind = 0 AND i.size >= ?3 AND i.size <= ?4))
            AND (i.mtime >= ?5 AND i.mtime <= ?6 OR typeof(i.mtime) = 'blob')
            AND (i.btime >= ?7 AND i.btime <= ?8 OR typeof(i.btime) = 'blob')
            AND (i.atime >= ?9 AND i.atime <= ?10 OR typeof(i.atime) = 'blob')
            AND (?11 IS NULL OR i.uid = ?11)
        """)

    /// Names of the inodes with these numbers that are within the bounds.
    package func searchRows(after first: Int64, through last: Int64, _ bounds: SearchBounds) throws -> [SearchRow] {
        try all(Self.byBounds) { bindings in
            bindings.add(first)
            bindings.add(last)
            bindings.add(bounds.size?.lowerBound)
            bindings.add(bounds.size?.upperBound)
            for range in [bounds.modified, bounds.created, bounds.accessed] {
                bindings.add(range.lowerBound)
                bindings.add(range.upperBound)
            }
            bindings.add(bounds.uid.map { Int64($0) })
        } _: {
            SearchRow($0)
        }
    }

    private static let nextInode = Query("SELECT MIN(id) FROM inode WHERE id > ?")

    /// The inode with the next higher number.
    package func inode(after number: Int64) throws -> Int64? {
        try first(Self.nextInode) {
            $0.add(number)
        } _: {
            $0.intOrNil(0)
        } ?? nil
    }

    private static let names = Query("SELECT id, name FROM name WHERE id > ? AND id <= ? ORDER BY id LIMIT ?")

    /// Numbers and names after `number` through `last`, in order.
    package func searchNames(after number: Int64, through last: Int64, limit: Int) throws -> [(Int64, [UInt8])] {
        try all(Self.names) { bindings in
            bindings.add(number)
            bindings.add(last)
            bindings.add(Int64(limit))
        } _: { row in
            (row.int(0), row.bytes(1) ?? [])
        }
    }

    private static let ends = Query("SELECT (SELECT MIN(id) FROM name), (SELECT MAX(id) FROM name)")

    /// The lowest and the highest number of a name; nil when there are no names.
    package func nameNumbers() throws -> ClosedRange<Int64>? {
        try first(Self.ends, { _ in }) { row in
            guard let lowest = row.intOrNil(0), let highest = row.intOrNil(1) else { return nil }
            return lowest...highest
        } ?? nil
    }

    private static let moved = Query("SELECT id FROM moved_name")

    /// Names that have changed since they were indexed (``NameIndex``).
    package func movedNames() throws -> [Int64] { try all(Self.moved, { _ in }) { $0.int(0) } }

    // MARK: Inodes with a property

    private static let pending = Query(
        "SELECT inode FROM item INDEXED BY item_ready WHERE pending = 1 AND inode IS NOT NULL ORDER BY ready_at, id")
    private static let writing = Query("SELECT id FROM inode INDEXED BY inode_writing WHERE writing <> 0")
    private static let excluded = Query(
        "SELECT inode FROM item INDEXED BY item_excluded WHERE excluded <> 0 AND inode IS NOT NULL")
    private static let pinned = Query(
        "SELECT inode FROM item INDEXED BY item_pinned WHERE pinned <> 0 AND inode IS NOT NULL")

    private func inodes(_ query: Query) throws -> [InodeID] {
        try all(query, { _ in }) { InodeID(rawValue: $0.int(0)) }
    }

    /// Inodes with changes that the store has not confirmed.
    package func pendingInodes() throws -> Set<InodeID> {
        try Set(inodes(Self.pending)).union(inodes(Self.writing))
    }
    package func excludedInodes() throws -> Set<InodeID> { try Set(inodes(Self.excluded)) }
    /// Inodes with a pin of their own, not those in pinned folders.
    package func inodesWithPins() throws -> Set<InodeID> { try Set(inodes(Self.pinned)) }
    /// Originals and copies of unresolved conflicts.
    package func inodesInConflict() throws -> Set<InodeID> {
        try Set(
            conflicts().flatMap { conflict in [conflict.copy, try item(conflict.original)?.inode].compactMap { $0 } })
    }

    private static let unlisted = Query(
        """
        SELECT i.id FROM inode i INDEXED BY inode_unlisted CROSS JOIN item t ON t.inode = i.id
        WHERE i.kind = 1 AND i.enumerated = 0 AND i.nlink > 0 AND t.identifier IS NOT NULL
        """)

    /// Folders of the store that nobody has listed: no search of the catalog finds their content.
    package func unlistedFolders() throws -> [InodeID] { try inodes(Self.unlisted) }

    /// The inode's place: its first name.
    package func searchPlace(of inode: InodeID) throws -> (folder: InodeID, name: Filename)? { try place(of: inode) }
}
