package import FileProvider

/// What a rename did.
package struct RenameResult: Sendable {
    package var moved: InodeRecord
    /// What had the new name before; with a link count of 0 it lives on until ``Catalog/Writer/deleteInode(_:)``.
    package var replaced: InodeRecord?
}

extension Catalog.Writer {
    /// rename(2), with identity through saves (design.md): a name taken over by a file that the provider
    /// never had stays the same item.
    package func rename(
        _ name: Filename, in folder: InodeID, to newName: Filename, in newFolder: InodeID, noReplace: Bool,
        settle: Double
    ) throws -> RenameResult {
        var source = try existingChild(of: folder, named: name)
        _ = try livingFolder(newFolder)
        let target = try child(of: newFolder, named: newName)
        if let target {
            if noReplace { throw CatalogError(.exists, "\(newName): exists already") }
            if target.id == source.id { return RenameResult(moved: source, replaced: nil) }
            if source.isFolder { try requireEmpty(target, newName) }
            if !source.isFolder && target.isFolder { throw CatalogError(.isFolder, "\(newName): is a folder") }
        }
        if source.isFolder { try requireOutside(source.id, newFolder) }

        var replaced: InodeRecord?
        if var target {
            try moveItem(of: source, over: target, settle: settle)
            target.changed = now
            target.linkCount = target.isFolder ? 0 : target.linkCount - 1
            try update(target)
            try relink(newName, in: newFolder, to: source.id)
            replaced = target
        } else {
            try moveItem(of: source, to: newName, in: newFolder, settle: settle)
            try link(source.id, in: newFolder, as: newName)
        }
        try unlinkName(name, in: folder)
        source.changed = now
        try update(source)
        let wasFolder: Int64 = source.isFolder ? 1 : 0
        try touch(folder: folder, links: -wasFolder)
        try touch(folder: newFolder, links: replaced?.isFolder == true ? 0 : wasFolder)
        return RenameResult(moved: source, replaced: replaced)
    }

    /// A folder cannot move into itself.
    private func requireOutside(_ inode: InodeID, _ newFolder: InodeID) throws {
        var current = newFolder
        while current != .root {
            if current == inode { throw CatalogError(.intoItself, "a folder cannot move into itself") }
            guard let place = try place(of: current) else { return }
            current = place.folder
        }
    }

    private func moveItem(of source: InodeRecord, to name: Filename, in folder: InodeID, settle: Double) throws {
        guard var item = try item(of: source.id), let parent = try self.item(of: folder) else { return }
        // Only the name the store knows moves the item; another hard link's rename does not.
        item.local = TreePlace(parent: parent.id, name: name)
        item.becomesReady(at: readyTime(of: source, settle))
        try update(item)
    }

    /// Whoever still writes it says when it is ready.
    private func readyTime(of source: InodeRecord, _ settle: Double) -> FileTime {
        source.writing == .modified ? .farFuture : now.adding(seconds: settle)
    }

    private func moveItem(of source: InodeRecord, over target: InodeRecord, settle: Double) throws {
        guard let sourceItem = try item(of: source.id), let targetItem = try item(of: target.id) else { return }
        let isSave = sourceItem.identifier == nil && sourceItem.kind.isDocument && targetItem.kind.isDocument
        guard isSave, !sourceItem.isExcluded, !targetItem.isExcluded else {
            // A real move: the source's item survives, the target's is deleted against its base version.
            var moved = sourceItem
            moved.local = targetItem.local
            moved.becomesReady(at: readyTime(of: source, settle))
            try buryItem(of: target.id, settle: settle)
            try update(moved)
            return
        }
        // The document goes on with new bytes. The temporary file's own item is buried, not deleted: its
        // upload may be under way, and is then taken back.
        var temporary = sourceItem
        temporary.inode = nil
        temporary.local = nil
        temporary.contentRevision = 0
        temporary.readyAt = now
        try update(temporary)
        var document = targetItem
        document.inode = source.id
        document.contentRevision = max(sourceItem.contentRevision, targetItem.contentRevision) + 1
        document.becomesReady(at: readyTime(of: source, settle))
        try update(document)
    }
}
