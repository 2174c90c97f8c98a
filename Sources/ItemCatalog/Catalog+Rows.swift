import FileProvider

/// Writing whole rows: every change of an inode or an item goes through these.
extension Catalog.Writer {
    /// Adds a row; the record's id is ignored and given out anew.
    func insert(_ inode: InodeRecord) throws -> InodeRecord {
        try run(inodeTable.insertion) { bindings in
            for group in inodeTable.all { group.bind(inode, &bindings) }
        }
        var inserted = inode
        inserted.id = InodeID(rawValue: lastInserted)
        return inserted
    }

    /// Writes what is different from what is there.
    func update(_ inode: InodeRecord) throws {
        guard let old = try inodeIfPresent(inode.id) else { return }
        try inodeTable.update(inode, from: old, inode.id.rawValue, self)
    }

    /// Adds a row; the record's id is ignored and given out anew.
    func insert(_ item: ItemRecord) throws -> ItemRecord {
        try run(itemTable.insertion) { bindings in
            for group in itemTable.all { group.bind(item, &bindings) }
        }
        var inserted = item
        inserted.id = ItemID(rawValue: lastInserted)
        return inserted
    }

    /// Writes what is different from what is there.
    package func update(_ item: ItemRecord) throws {
        guard let old = try self.item(item.id) else { return }
        try itemTable.update(item, from: old, item.id.rawValue, self)
    }

    private static let itemDeletion = Query("DELETE FROM item WHERE id = ?")
    private static let inodeDeletion = Query("DELETE FROM inode WHERE id = ? AND nlink = 0")
    private static let nameInsertion = Query("INSERT INTO name (id, folder, name, inode) VALUES (?, ?, ?, ?)")
    private static let nameMove = Query("UPDATE name SET folder = ?, name = ? WHERE folder = ? AND name = ?")
    private static let nameChange = Query("UPDATE name SET inode = ? WHERE folder = ? AND name = ?")
    private static let nameDeletion = Query("DELETE FROM name WHERE folder = ? AND name = ?")
    private static let linkChange = Query("UPDATE inode SET nlink = nlink + ? WHERE id = ?")
    private static let dateChange = Query("UPDATE inode SET mtime = ?, ctime = ? WHERE id = ?")

    package func deleteItem(_ id: ItemID) throws {
        try run(Self.itemDeletion) { $0.add(id.rawValue) }
        try forgetConflicts(of: id)
    }

    /// Forgets an inode that has no name; the caller removes its bytes after the commit.
    package func deleteInode(_ id: InodeID) throws {
        try run(Self.inodeDeletion) { $0.add(id.rawValue) }
        try forgetConflicts(ofCopy: id)
    }

    /// - Parameter number: its place in the folder's listing; nil: behind all others.
    func link(_ inode: InodeID, in folder: InodeID, as name: Filename, number: Int64? = nil) throws {
        try run(Self.nameInsertion) { bindings in
            bindings.add(number)
            bindings.add(folder.rawValue)
            bindings.add(name.bytes)
            bindings.add(inode.rawValue)
        }
        if let number { try noteMove(of: number) }
    }

    /// Gives a name up for another one that is free. It keeps its number, also in another folder: whoever lists the folder
    /// meanwhile sees it once, under one of its names.
    func moveName(_ name: Filename, in folder: InodeID, to newName: Filename, in newFolder: InodeID) throws {
        try run(Self.nameMove) { bindings in
            bindings.add(newFolder.rawValue)
            bindings.add(newName.bytes)
            bindings.add(folder.rawValue)
            bindings.add(name.bytes)
        }
        try noteMove(to: newName, in: newFolder)
    }

    /// Makes an existing name mean another inode, in the same place of the listing.
    func relink(_ name: Filename, in folder: InodeID, to inode: InodeID) throws {
        try run(Self.nameChange) { bindings in
            bindings.add(inode.rawValue)
            bindings.add(folder.rawValue)
            bindings.add(name.bytes)
        }
    }

    func unlinkName(_ name: Filename, in folder: InodeID) throws {
        try run(Self.nameDeletion) { bindings in
            bindings.add(folder.rawValue)
            bindings.add(name.bytes)
        }
    }

    /// An item of the provider's appeared. A first listing only shows what was there all along: it leaves the
    /// folder's date alone.
    func noteArrival(in id: InodeID, links: Int64) throws {
        if try inode(id).isEnumerated { return try touch(folder: id, links: links) }
        guard links != 0 else { return }
        try run(Self.linkChange) { bindings in
            bindings.add(links)
            bindings.add(id.rawValue)
        }
    }

    /// The folder's own times after an entry came or went; `links`: how its count of subfolders changed.
    func touch(folder id: InodeID, links: Int64 = 0) throws {
        try run(Self.dateChange) { bindings in
            bindings.add(now.nanoseconds)
            bindings.add(now.nanoseconds)
            bindings.add(id.rawValue)
        }
        guard links != 0 else { return }
        try run(Self.linkChange) { bindings in
            bindings.add(links)
            bindings.add(id.rawValue)
        }
    }
}
