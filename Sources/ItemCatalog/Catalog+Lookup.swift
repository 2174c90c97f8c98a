package import FileProvider
import GRDB

/// One entry of a folder.
package struct FolderEntry: Sendable {
    /// Where the listing goes on after this entry; stable for as long as the entry exists, whatever it is renamed to.
    /// Above 0.
    package var cookie: Int64
    package var name: Filename
    package var inode: InodeRecord

    /// A cookie is the name's number plus this: names that programs make have numbers from 0 downwards (`ListingFront`).
    /// Not more, for the sake of programs to which a place in a listing has 31 bits.
    static let origin: Int64 = 1 << 30
}

extension Catalog.Reader {
    static let inodeColumns =
        "i.id, i.kind, i.mode, i.uid, i.gid, i.nlink, i.size, i.atime, i.mtime, i.ctime, i.btime, i.target, "
        + "i.generation, i.base_size, i.extents, i.writing, i.stamp_size, i.stamp_mtime, i.stamp_ctime, i.enumerated, "
        + "i.rdev, i.used, i.split_from, (SELECT c.remote_capabilities FROM item c INDEXED BY item_capabilities "
        + "WHERE c.inode = i.id AND c.remote_capabilities IS NOT NULL)"
    static let inodeColumnCount = 24

    static func inode(_ row: Columns, from first: Int = 0) -> InodeRecord {
        func int(_ column: Int) -> Int64 { row.int(first + column) }
        func time(_ column: Int) -> FileTime { row.time(first + column) }
        let extents = row.bytes(first + 14)
        let writing: WritingMark? =
            switch int(15) {
            case 0: nil
            case 1: .maybeModified(BackingStamp(size: int(16), modified: time(17), changed: time(18)))
            default: .modified
            }
        return InodeRecord(
            id: InodeID(rawValue: int(0)), kind: InodeKind(rawValue: int(1)) ?? .document,
            mode: UInt32(truncatingIfNeeded: int(2)), uid: UInt32(truncatingIfNeeded: int(3)),
            gid: UInt32(truncatingIfNeeded: int(4)), linkCount: int(5), size: int(6), accessed: time(7),
            modified: time(8), changed: time(9), born: time(10), target: row.bytes(first + 11),
            generation: int(12), baseSize: int(13), extents: extents.map { RangeSet(blob: $0) },
            writing: writing, isEnumerated: int(19) != 0, device: UInt64(bitPattern: int(20)), used: time(21),
            splitFrom: row.intOrNil(first + 22).map { ItemID(rawValue: $0) },
            capabilities: ItemCapabilities(column: row.intOrNil(first + 23)))
    }

    package func inode(_ id: InodeID) throws -> InodeRecord {
        guard let inode = try inodeIfPresent(id) else { throw CatalogError(.notFound, "\(id) is gone") }
        return inode
    }

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

    /// The inode that `name` means in `folder`, or nil when there is no such name. Whether that is the
    /// truth about the store depends on ``InodeRecord/isEnumerated`` of the folder.
    package func child(of folder: InodeID, named name: Filename) throws -> InodeRecord? {
        try first(Self.byName) { bindings in
            bindings.add(folder.rawValue)
            bindings.add(name.bytes)
        } _: {
            Self.inode($0)
        }
    }

    private static let byFolder = Query(
        """
        SELECT n.id, n.name, \(inodeColumns) FROM name n JOIN inode i ON i.id = n.inode
        WHERE n.folder = ? AND n.id > ? ORDER BY n.id LIMIT ?
        """)

    /// Entries of a folder with a cookie above `cookie` (0: from the beginning), at most `limit`, in the order of their
    /// cookies.
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

    /// All names that begin with these bytes. Looks at every name there is.
    package func names(beginningWith prefix: [UInt8]) throws -> [(folder: InodeID, name: Filename)] {
        let rows = try Row.fetchAll(
            db, sql: "SELECT folder, name FROM name WHERE substr(name, 1, ?) = ?",
            arguments: [prefix.count, Filename(bytes: prefix).data])
        return rows.map { (InodeID(rawValue: $0[0]), Filename(bytes: $0.bytes(1) ?? [])) }
    }

    private static let last = Query("SELECT seq FROM sqlite_sequence WHERE name = 'item'")

    /// The item that was noted last: those after it are newer than this moment.
    package func lastItem() throws -> ItemID {
        try first(Self.last, { _ in }) { ItemID(rawValue: $0.int(0)) } ?? .root
    }

    private static let anyName = Query("SELECT 1 FROM name WHERE folder = ? LIMIT 1")

    package func hasChildren(_ folder: InodeID) throws -> Bool {
        try exists(Self.anyName) { $0.add(folder.rawValue) }
    }

    /// The names from the root down to the inode; nil when it has none (unlinked).
    package func path(of inode: InodeID) throws -> [Filename]? {
        var names: [Filename] = []
        var current = inode
        while current != .root {
            guard let place = try place(of: current), names.count < 4_096 else { return nil }
            names.append(place.name)
            current = place.folder
        }
        return names.reversed()
    }

    /// Walks `names` from the root, without following links.
    package func resolve(_ names: [Filename]) throws -> InodeRecord {
        var inode = try inode(.root)
        for name in names {
            guard inode.isFolder else { throw CatalogError(.notFolder, "a component is not a folder") }
            guard let next = try child(of: inode.id, named: name) else {
                throw inode.isEnumerated
                    ? CatalogError(.notFound, "no such file or directory")
                    : CatalogError(.notEnumerated(inode.id), "the folder has not been listed yet")
            }
            inode = next
        }
        return inode
    }

    private static let unlisted = Query(
        """
        SELECT i.id FROM (
            SELECT inode, id FROM name WHERE folder = ?1 AND id > (SELECT MIN(id) FROM name WHERE folder = ?1 AND inode = ?2)
            ORDER BY id LIMIT 2000) n
        JOIN inode i ON i.id = n.inode JOIN item t ON t.inode = i.id
        WHERE i.kind = 1 AND i.enumerated = 0 AND t.identifier IS NOT NULL ORDER BY n.id LIMIT ?3
        """)

    /// Folders of the store's that nobody has looked into, behind another one in the order of a listing; of a folder with
    /// very many names only the next ones are looked through.
    package func unlistedFolders(in parent: InodeID, after last: InodeID, limit: Int) throws -> [InodeID] {
        try all(Self.unlisted) { bindings in
            bindings.add(parent.rawValue)
            bindings.add(last.rawValue)
            bindings.add(Int64(limit))
        } _: {
            InodeID(rawValue: $0.int(0))
        }
    }

    /// Every folder whose listing has been seen, parents before what is in them.
    package func enumeratedFolders() throws -> [InodeID] {
        try Int64.fetchAll(db, sql: "SELECT id FROM inode WHERE kind = 1 AND enumerated = 1 AND nlink > 0 ORDER BY id")
            .map { InodeID(rawValue: $0) }
    }

    /// Every inode with a dirty mark: a writer was at work when the last daemon ended.
    package func inodesBeingWritten() throws -> [InodeRecord] {
        try all(sql: "SELECT \(Self.inodeColumns) FROM inode i WHERE i.writing <> 0") { _ in
        } _: {
            Self.inode($0)
        }
    }

    /// Every inode without a name: left over when the last daemon ended.
    package func orphans() throws -> [InodeID] {
        try Int64.fetchAll(db, sql: "SELECT id FROM inode WHERE nlink = 0").map { InodeID(rawValue: $0) }
    }

    private static let generationByNumber = Query("SELECT generation FROM inode WHERE id = ? AND kind = 0")

    /// The current generation of a document; nil: there is none of this number.
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

    /// The highest inode number that was ever given out.
    package func highestInode() throws -> InodeID {
        InodeID(rawValue: try Int64.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'inode'") ?? 1)
    }
}

extension Row {
    /// A BLOB (or an empty one, which SQLite may give as an empty pointer); nil for NULL.
    func bytes(_ index: Int) -> [UInt8]? {
        try? withUnsafeData(atIndex: index) { data in data.map { Array($0) } }
    }
}
