package import FileProvider

/// Hard links. The store has one name of a file, the primary name (its item's local place); further names stay on this
/// machine.
extension TreeStore {
    /// link(2).
    package func link(_ id: InodeID, to name: Filename, in folder: InodeID) throws -> InodeRecord {
        var inode = try inode(id)
        _ = try livingFolder(folder)
        if inode.isFolder { throw CatalogError(.notPermitted, "\(name): a folder cannot have a second name") }
        // The file has been unlinked: its item is gone.
        guard inode.linkCount > 0 else { throw CatalogError(.notFound, "\(name): the file has been removed") }
        if try child(of: folder, named: name) != nil { throw CatalogError(.exists, "\(name): exists already") }
        try link(id, in: folder, as: name, number: numberInFront())
        try touch(folder: folder)
        inode.linkCount += 1
        inode.changed = now
        try update(inode)
        return inode
    }

    /// Drops a name that the caller has taken out of its folder. If the name was the primary one, another name becomes
    /// primary, as a move; with the last name the item leaves the local tree.
    func dropLink(of inode: InodeRecord, _ place: TreePlace, settle: Double) throws -> InodeRecord {
        var inode = inode
        inode.linkCount -= 1
        inode.changed = now
        try update(inode)
        if inode.linkCount == 0 {
            try makeTombstone(of: inode.id, settle: settle)
        } else if let item = try item(of: inode.id), item.local == place {
            try promote(item, settle: settle)
        }
        return inode
    }

    /// Makes another name of the inode the item's primary name.
    func promote(_ item: ItemRecord, settle: Double) throws {
        guard let inode = item.inode, let next = try firstPlace(of: inode), let parent = try self.item(of: next.folder)
        else { return }
        var item = item
        item.local = TreePlace(parent: parent.id, name: next.name)
        item.becomesReady(at: readyTime(of: try self.inode(inode), item, settle))
        try judge(&item, settle: settle)
        try update(item)
    }

    /// Whether this is the item's primary name.
    func isPrimary(_ item: ItemRecord, _ name: Filename, in folder: InodeID) throws -> Bool {
        guard let parent = try self.item(of: folder) else { return false }
        return item.local == TreePlace(parent: parent.id, name: name)
    }
}
