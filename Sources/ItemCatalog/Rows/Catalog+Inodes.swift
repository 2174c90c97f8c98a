package import FileProvider
import GRDB
package import Trees

extension Catalog.Reader {
    private static let byNumber = Query("SELECT \(inodeColumns) FROM inode i WHERE i.id = ?")

    package func inodeIfPresent(_ id: InodeID) throws -> InodeRecord? {
        try first(Self.byNumber) {
            $0.add(id.rawValue)
        } _: {
            Self.inode($0)
        }
    }

    private static let byName = Query(
        "SELECT \(inodeColumns) FROM name n JOIN inode i ON i.id = n.inode WHERE n.folder = ? AND n.name = ?")

    /// The inode that `name` means in `folder`, or nil when there is no such name. ``InodeRecord/isEnumerated`` of the
    /// folder tells whether nil is also true of the store.
    package func child(of folder: InodeID, named name: Filename) throws -> InodeRecord? {
        try first(Self.byName) { bindings in
            bindings.add(folder.rawValue)
            bindings.add(name.bytes)
        } _: {
            Self.inode($0)
        }
    }

    private static let last = Query("SELECT seq FROM sqlite_sequence WHERE name = 'item'")

    /// The newest item: all later ones have higher numbers.
    package func lastItem() throws -> ItemID {
        try first(Self.last, { _ in }) { ItemID(rawValue: $0.int(0)) } ?? .root
    }

    private static let unlisted = Query(
        """
        SELECT i.id FROM (
            SELECT inode, id FROM name WHERE folder = ?1 AND id > (SELECT MIN(id) FROM name WHERE folder = ?1 AND inode = ?2)
            ORDER BY id LIMIT 2000) n
        JOIN inode i ON i.id = n.inode JOIN item t ON t.inode = i.id
        WHERE i.kind = 1 AND i.enumerated = 0 AND t.identifier IS NOT NULL ORDER BY n.id LIMIT ?3
        """)

    /// Folders of the store that nobody has listed, after `last` in the order of a listing. In a folder with very many
    /// names only the next names are checked.
    package func unlistedFolders(in parent: InodeID, after last: InodeID, limit: Int) throws -> [InodeID] {
        try all(Self.unlisted) { bindings in
            bindings.add(parent.rawValue)
            bindings.add(last.rawValue)
            bindings.add(Int64(limit))
        } _: {
            InodeID(rawValue: $0.int(0))
        }
    }

    /// Items shown in folders that nobody has listed: no listing reports their changes.
    package func itemsInUnlistedFolders(limit: Int) throws -> [ItemIdentifier] {
        let sql = """
            SELECT t.identifier FROM inode i CROSS JOIN item p ON p.inode = i.id CROSS JOIN item t ON \(Self.isRemote(in: "p.id"))
            WHERE i.kind = 1 AND i.enumerated = 0 AND t.identifier IS NOT NULL LIMIT ?
            """
        return try String.fetchAll(db, sql: sql, arguments: [limit]).map { ItemIdentifier($0) }
    }

    /// The documents and folders in a folder.
    package func inodes(in folder: InodeID) throws -> [InodeID] {
        let statement = try db.cachedStatement(
            sql: "SELECT i.id FROM name n JOIN inode i ON i.id = n.inode WHERE n.folder = ? AND i.kind <= 1")
        return try Int64.fetchAll(statement, arguments: [folder.rawValue]).map(InodeID.init(rawValue:))
    }

    /// Every enumerated folder, parents first.
    package func enumeratedFolders() throws -> [InodeID] {
        try Int64.fetchAll(db, sql: "SELECT id FROM inode WHERE kind = 1 AND enumerated = 1 AND nlink > 0 ORDER BY id")
            .map { InodeID(rawValue: $0) }
    }

    /// Every inode with a dirty mark: a program was writing when the last daemon ended.
    package func inodesBeingWritten() throws -> [InodeRecord] {
        try all(sql: "SELECT \(Self.inodeColumns) FROM inode i WHERE i.writing <> 0") { _ in
        } _: {
            Self.inode($0)
        }
    }

    /// Every inode without a name, left over when the last daemon ended.
    package func orphans() throws -> [InodeID] {
        try Int64.fetchAll(db, sql: "SELECT id FROM inode WHERE nlink = 0").map { InodeID(rawValue: $0) }
    }

    private static let generationByNumber = Query("SELECT generation FROM inode WHERE id = ? AND kind = 0")

    /// The current generation of a document; nil when there is no such inode.
    package func generation(of id: InodeID) throws -> Int64? {
        try first(Self.generationByNumber) {
            $0.add(id.rawValue)
        } _: {
            $0.int(0)
        }
    }

    /// The current generation of every document.
    package func generations() throws -> [InodeID: Int64] {
        var all: [InodeID: Int64] = [:]
        let rows = try Row.fetchCursor(db, sql: "SELECT id, generation FROM inode WHERE kind = 0")
        while let row = try rows.next() { all[InodeID(rawValue: row[0])] = row[1] }
        return all
    }

    /// The highest inode number ever used.
    package func highestInode() throws -> InodeID {
        InodeID(rawValue: try Int64.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'inode'") ?? 1)
    }
}

extension Row {
    /// A BLOB; nil for NULL. SQLite may return an empty BLOB as a null pointer.
    func bytes(_ index: Int) -> [UInt8]? {
        try? withUnsafeData(atIndex: index) { data in data.map { Array($0) } }
    }
}
