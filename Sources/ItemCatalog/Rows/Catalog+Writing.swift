import FileProvider
package import Trees

/// Writes whole rows: every change of an inode or an item goes through these methods.
extension Catalog.Writer: TreeStore {
    package func insert(_ inode: InodeRecord) throws -> InodeRecord {
        try insert([inode])[0]
    }

    package func insert(_ inodes: [InodeRecord]) throws -> [InodeRecord] {
        var inserted = inodes
        try inSlices(of: inodes.count) { slice in
            let first = try inodeTable.insert(inodes[slice], self)
            for index in slice { inserted[index].id = InodeID(rawValue: first + Int64(index - slice.lowerBound)) }
        }
        return inserted
    }

    package func update(_ inode: InodeRecord) throws {
        guard let old = try inodeIfPresent(inode.id) else { return }
        try inodeTable.update(inode, from: old, inode.id.rawValue, self)
    }

    package func insert(_ item: ItemRecord) throws -> ItemRecord {
        try insert([item])[0]
    }

    package func insert(_ items: [ItemRecord]) throws -> [ItemRecord] {
        var inserted = items
        try inSlices(of: items.count) { slice in
            let first = try itemTable.insert(items[slice], self)
            for index in slice { inserted[index].id = ItemID(rawValue: first + Int64(index - slice.lowerBound)) }
        }
        return inserted
    }

    package func update(_ item: ItemRecord) throws {
        guard let old = try self.item(item.id) else { return }
        try itemTable.update(item, from: old, item.id.rawValue, self)
    }

    private static let itemDeletion = Query("DELETE FROM item WHERE id = ?")
    private static let inodeDeletion = Query("DELETE FROM inode WHERE id = ? AND nlink = 0")
    private static let linkChange = Query("UPDATE inode SET nlink = nlink + ? WHERE id = ?")
    private static let dateChange = Query(
        """
        UPDATE inode SET own_atime = NULLIF(atime, ?1), own_btime = NULLIF(btime, ?1), own_ctime = NULL, mtime = ?1
        WHERE id = ?2
        """)

    package func deleteItem(_ id: ItemID) throws {
        try run(Self.itemDeletion) { $0.add(id.rawValue) }
        try forgetConflicts(of: id)
    }

    package func deleteInode(_ id: InodeID) throws {
        try run(Self.inodeDeletion) { $0.add(id.rawValue) }
        try forgetConflicts(ofCopy: id)
    }

    package func moveRemoteChildren(of old: ItemID, to new: ItemID) throws {
        for var child in try remoteChildren(of: old) {
            child.remote?.parent = new
            try update(child)
        }
    }

    package func touch(folder id: InodeID, links: Int64) throws {
        try run(Self.dateChange) { bindings in
            bindings.add(now.nanoseconds)
            bindings.add(id.rawValue)
        }
        if links != 0 { try addLinks(links, to: id) }
    }

    package func addLinks(_ links: Int64, to id: InodeID) throws {
        try run(Self.linkChange) { bindings in
            bindings.add(links)
            bindings.add(id.rawValue)
        }
    }
}
