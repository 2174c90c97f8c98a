package import FileProvider

extension TreeStore {
    /// unlink(2). Returns the inode's new state; with a link count of 0 the inode stays until ``deleteInode(_:)``, for
    /// programs that have it open.
    package func unlink(_ name: Filename, in folder: InodeID, settle: Double) throws -> InodeRecord {
        let inode = try existingChild(of: folder, named: name)
        if inode.isFolder { throw CatalogError(.isFolder, "\(name): is a folder") }
        guard let parent = try item(of: folder) else { throw CatalogError(.notFound, "\(folder) has no item") }
        try unlinkName(name, in: folder)
        try touch(folder: folder)
        return try dropLink(of: inode, TreePlace(parent: parent.id, name: name), settle: settle)
    }

    /// Takes an inode out of all folders; no program asked for this, so the kernel is told.
    package func removeEveryName(of inode: InodeID) throws {
        for place in try places(of: inode) {
            _ = try unlink(place.name, in: place.folder, settle: 0)
            changes.append(.entry(folder: place.folder, name: place.name))
        }
        changes.append(.removed(inode))
    }

    /// rmdir(2). Needs the folder's listing to know that the folder is empty.
    package func removeFolder(_ name: Filename, in folder: InodeID, settle: Double) throws -> InodeRecord {
        var inode = try existingChild(of: folder, named: name)
        try requireEmpty(inode, name)
        try unlinkName(name, in: folder)
        try touch(folder: folder, links: -1)
        inode.linkCount = 0
        inode.changed = now
        try update(inode)
        try makeTombstone(of: inode.id, settle: settle)
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
}
