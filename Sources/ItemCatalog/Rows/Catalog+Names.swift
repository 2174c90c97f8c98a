package import FileProvider
package import Trees

/// Table `name`.
extension Catalog.Reader {
    private static let byFolder = Query(
        """
        SELECT n.id, n.name, \(inodeColumns) FROM name n JOIN inode i ON i.id = n.inode
        WHERE n.folder = ? AND n.id > ? ORDER BY n.id LIMIT ?
        """)

    package func children(of folder: InodeID, after cookie: Int64, limit: Int) throws -> [FolderEntry] {
        try all(Self.byFolder) { bindings in
            bindings.add(folder.rawValue)
            bindings.add(cookie - FolderEntry.origin)
            bindings.add(Int64(limit))
        } _: { row in
            FolderEntry(
                cookie: row.int(0) + FolderEntry.origin, name: Filename(bytes: row.bytes(1) ?? []),
                inode: Self.inode(row, from: 2))
        }
    }

    private static let anyName = Query("SELECT 1 FROM name WHERE folder = ? LIMIT 1")

    package func hasChildren(_ folder: InodeID) throws -> Bool {
        try exists(Self.anyName) { $0.add(folder.rawValue) }
    }

    // Names made by programs are numbered downwards from 0.
    private static let byInode = Query("SELECT folder, name FROM name WHERE inode = ? ORDER BY id <= 0, abs(id)")

    private static func place(_ row: Columns) -> (folder: InodeID, name: Filename) {
        (InodeID(rawValue: row.int(0)), Filename(bytes: row.bytes(1) ?? []))
    }

    package func places(of inode: InodeID) throws -> [(folder: InodeID, name: Filename)] {
        try all(Self.byInode) {
            $0.add(inode.rawValue)
        } _: {
            Self.place($0)
        }
    }

    package func firstPlace(of inode: InodeID) throws -> (folder: InodeID, name: Filename)? {
        try first(Self.byInode) {
            $0.add(inode.rawValue)
        } _: {
            Self.place($0)
        }
    }

    private static let numberOfName = Query("SELECT id FROM name WHERE folder = ? AND name = ?")

    package func number(of name: Filename, in folder: InodeID) throws -> Int64? {
        try first(Self.numberOfName) { bindings in
            bindings.add(folder.rawValue)
            bindings.add(name.bytes)
        } _: {
            $0.int(0)
        }
    }

    private static let beginning = Query("SELECT folder, name FROM name WHERE substr(name, 1, ?) = ?")

    /// All names that begin with these bytes. Scans all names.
    package func names(beginningWith prefix: [UInt8]) throws -> [(folder: InodeID, name: Filename)] {
        try all(Self.beginning) { bindings in
            bindings.add(Int64(prefix.count))
            bindings.add(prefix)
        } _: {
            Self.place($0)
        }
    }
}

extension Catalog.Writer {
    private static let insertion = Query("INSERT INTO name (id, folder, name, inode) VALUES (?, ?, ?, ?)")
    private static let insertions = Query(
        "INSERT INTO name (folder, name, inode) VALUES "
            + Array(repeating: "(?, ?, ?)", count: many).joined(separator: ", "))
    private static let move = Query("UPDATE name SET folder = ?, name = ? WHERE folder = ? AND name = ?")
    private static let change = Query("UPDATE name SET inode = ? WHERE folder = ? AND name = ?")
    private static let deletion = Query("DELETE FROM name WHERE folder = ? AND name = ?")
    private static let lowest = Query("SELECT MIN(id) FROM name")

    package func link(_ inode: InodeID, in folder: InodeID, as name: Filename, number: Int64?) throws {
        try run(Self.insertion) { bindings in
            bindings.add(number)
            bindings.add(folder.rawValue)
            bindings.add(name.bytes)
            bindings.add(inode.rawValue)
        }
        if let number { try noteMove(of: number) }
    }

    package func link(_ names: [(inode: InodeID, name: Filename)], in folder: InodeID) throws {
        try inSlices(of: names.count) { slice in
            if slice.count == 1 {
                return try link(
                    names[slice.lowerBound].inode, in: folder, as: names[slice.lowerBound].name, number: nil)
            }
            try run(Self.insertions) { bindings in
                for (inode, name) in names[slice] {
                    bindings.add(folder.rawValue)
                    bindings.add(name.bytes)
                    bindings.add(inode.rawValue)
                }
            }
        }
    }

    package func moveName(
        _ name: Filename, in folder: InodeID, to newName: Filename, in newFolder: InodeID
    ) throws {
        try run(Self.move) { bindings in
            bindings.add(newFolder.rawValue)
            bindings.add(newName.bytes)
            bindings.add(folder.rawValue)
            bindings.add(name.bytes)
        }
        try noteMove(to: newName, in: newFolder)
    }

    package func relink(_ name: Filename, in folder: InodeID, to inode: InodeID) throws {
        try run(Self.change) { bindings in
            bindings.add(inode.rawValue)
            bindings.add(folder.rawValue)
            bindings.add(name.bytes)
        }
    }

    package func unlinkName(_ name: Filename, in folder: InodeID) throws {
        try run(Self.deletion) { bindings in
            bindings.add(folder.rawValue)
            bindings.add(name.bytes)
        }
    }

    package func numberInFront() throws -> Int64? {
        if !front.isKnown { front.begin(below: try first(Self.lowest, { _ in }) { $0.intOrNil(0) ?? 1 } ?? 1) }
        return front.next()
    }
}
