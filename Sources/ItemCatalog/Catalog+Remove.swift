package import FileProvider

extension Catalog.Writer {
    /// unlink(2). Returns the inode as it is now; with a link count of 0 it lives on until
    /// ``deleteInode(_:)``, for whoever has it open.
    package func unlink(_ name: Filename, in folder: InodeID, settle: Double) throws -> InodeRecord {
        let inode = try existingChild(of: folder, named: name)
        if inode.isFolder { throw CatalogError(.isFolder, "\(name): is a folder") }
        try unlinkName(name, in: folder)
        try touch(folder: folder)
        return try dropLink(of: inode, settle: settle)
    }

    /// rmdir(2). Needs the folder's listing to know that it is empty.
    package func removeFolder(_ name: Filename, in folder: InodeID, settle: Double) throws -> InodeRecord {
        var inode = try existingChild(of: folder, named: name)
        try requireEmpty(inode, name)
        try unlinkName(name, in: folder)
        try touch(folder: folder, links: -1)
        inode.linkCount = 0
        inode.changed = now
        try update(inode)
        try buryItem(of: inode.id, settle: settle)
        return inode
    }

    func requireEmpty(_ inode: InodeRecord, _ name: Filename) throws {
        guard inode.isFolder else { throw CatalogError(.notFolder, "\(name): is not a folder") }
        guard inode.isEnumerated else { throw CatalogError(.notEnumerated(inode.id), "\(name): not listed yet") }
        if try hasChildren(inode.id) { throw CatalogError(.notEmpty, "\(name): is not empty") }
    }

    func existingChild(of folder: InodeID, named name: Filename) throws -> InodeRecord {
        if let inode = try child(of: folder, named: name) { return inode }
        let parent = try livingFolder(folder)
        throw parent.isEnumerated
            ? CatalogError(.notFound, "\(name): no such file or directory")
            : CatalogError(.notEnumerated(folder), "the folder of \(name) has not been listed yet")
    }

    /// One name less; with the last one the item is gone from the local tree.
    func dropLink(of inode: InodeRecord, settle: Double) throws -> InodeRecord {
        var inode = inode
        inode.linkCount -= 1
        inode.changed = now
        try update(inode)
        if inode.linkCount == 0 { try buryItem(of: inode.id, settle: settle) }
        return inode
    }

    /// Takes the item out of the local tree: a tombstone that the planner turns into a deletion, or
    /// forgets if the provider never had it. Its inode goes its own way.
    func buryItem(of inode: InodeID, settle: Double) throws {
        guard var item = try item(of: inode) else { return }
        item.inode = nil
        item.local = nil
        item.contentRevision = 0
        item.metadataRevision = 0
        item.becomesReady(at: now.adding(seconds: settle))
        if item.isExcluded { try deleteItem(item.id) } else { try update(item) }
    }
}
