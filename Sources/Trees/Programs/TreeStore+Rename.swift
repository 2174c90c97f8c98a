package import FileProvider

/// The result of a rename.
package struct RenameResult: Sendable {
    package var moved: InodeRecord
    /// The inode that had the new name; with a link count of 0 it stays until ``TreeStore/deleteInode(_:)``.
    package var replaced: InodeRecord?
}

extension TreeStore {
    /// rename(2), with identity through saves (Architecture, *Identity*): when a file that the provider never had takes over a
    /// document's name, the name stays the same item.
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
        // Must run before the names change: it decides by the names which one is primary.
        let movesItem = try item(of: source.id).map { try isPrimary($0, name, in: folder) } ?? false

        var replaced: InodeRecord?
        if let target {
            try relink(newName, in: newFolder, to: source.id)
            replaced = try displace(target, newName, newFolder, by: source, movesItem: movesItem, settle: settle)
            try unlinkName(name, in: folder)
        } else {
            try moveName(name, in: folder, to: newName, in: newFolder)
            if movesItem { try moveItem(of: source, to: newName, in: newFolder, settle: settle) }
        }
        source.changed = now
        try update(source)
        let wasFolder: Int64 = source.isFolder ? 1 : 0
        try touch(folder: folder, links: -wasFolder)
        try touch(folder: newFolder, links: replaced?.isFolder == true ? 0 : wasFolder)
        return RenameResult(moved: source, replaced: replaced)
    }

    /// renameat2(2) with RENAME_EXCHANGE: both names stay, and each gets the other's inode.
    package func exchange(
        _ name: Filename, in folder: InodeID, with newName: Filename, in newFolder: InodeID, settle: Double
    ) throws {
        var first = try existingChild(of: folder, named: name)
        var second = try existingChild(of: newFolder, named: newName)
        if first.id == second.id { return }
        if first.isFolder { try requireOutside(first.id, newFolder) }
        if second.isFolder { try requireOutside(second.id, folder) }
        let (a, b) = (try primaryItem(of: first, name, folder), try primaryItem(of: second, newName, newFolder))
        try relink(name, in: folder, to: second.id)
        try relink(newName, in: newFolder, to: first.id)
        first.changed = now
        second.changed = now
        try update(first)
        try update(second)
        let difference: Int64 = (second.isFolder ? 1 : 0) - (first.isFolder ? 1 : 0)
        try touch(folder: folder, links: difference)
        try touch(folder: newFolder, links: -difference)
        if var a, var b, try isSave(a, b) {
            // Each item keeps its place and gets the other's bytes.
            (a.inode, b.inode) = (b.inode, nil)
            try update(b)
            b.inode = first.id
            for (var item, inode, before) in [(a, second, b), (b, first, a)] {
                item.contentRevision = nextRevision(after: item.contentRevision)
                item.becomesReady(at: readyTime(of: inode, before, settle))
                try update(item)
            }
            return
        }
        for (item, inode, place) in [
            (a, first, TreePlace(parent: try itemID(of: newFolder), name: newName)),
            (b, second, TreePlace(parent: try itemID(of: folder), name: name)),
        ] {
            guard var item else { continue }
            item.local = place
            item.becomesReady(at: readyTime(of: inode, item, settle))
            try judge(&item, settle: settle)
            try update(item)
        }
    }

    /// Two documents exchange names, and the store knows one of them: this is a new version of that document. Both must
    /// be whole: bytes of a version that the store no longer has cannot be downloaded.
    private func isSave(_ a: ItemRecord, _ b: ItemRecord) throws -> Bool {
        try a.kind.isDocument && b.kind.isDocument && (a.identifier == nil) != (b.identifier == nil)
            && a.capabilities.contains(.writing) && b.capabilities.contains(.writing)
            && isWhole(a.inode) && isWhole(b.inode)
    }

    private func primaryItem(of inode: InodeRecord, _ name: Filename, _ folder: InodeID) throws -> ItemRecord? {
        try item(of: inode.id).flatMap { try isPrimary($0, name, in: folder) ? $0 : nil }
    }

    private func itemID(of folder: InodeID) throws -> ItemID {
        guard let item = try item(of: folder) else { throw CatalogError(.notFound, "\(folder) has no item") }
        return item.id
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

    /// A file that the store never had takes a document's name: the document gets its bytes, if the document may be
    /// written. All bytes must be here: missing bytes of a file that the store no longer has would be read from the
    /// document.
    func isNextVersion(_ temporary: ItemRecord, of document: ItemRecord) throws -> Bool {
        try temporary.identifier == nil && temporary.kind.isDocument && document.kind.isDocument
            && !document.isExcluded && document.capabilities.contains(.writing) && isWhole(temporary.inode)
    }

    private func moveItem(of source: InodeRecord, to name: Filename, in folder: InodeID, settle: Double) throws {
        guard var item = try item(of: source.id), let parent = try self.item(of: folder) else { return }
        let place = TreePlace(parent: parent.id, name: name)
        if item.identifier == nil, item.kind.isDocument, source.extents == nil,
            let document = try vacatedDocument(place)
        {
            try discardTemporary(item)
            return try rebind(document, to: source, of: item, at: place, settle: settle)
        }
        item.local = place
        item.becomesReady(at: readyTime(of: source, item, settle))
        try judge(&item, settle: settle)
        try update(item)
    }

    /// The inode that had the name is removed, or keeps its other names; in a save its item passes to the source. The
    /// name already means the source.
    private func displace(
        _ target: InodeRecord, _ name: Filename, _ folder: InodeID, by source: InodeRecord, movesItem: Bool,
        settle: Double
    ) throws -> InodeRecord {
        var target = target
        target.changed = now
        target.linkCount = target.isFolder ? 0 : target.linkCount - 1
        try update(target)
        guard let parent = try item(of: folder) else { return target }
        let place = TreePlace(parent: parent.id, name: name)
        let sourceItem = movesItem ? try item(of: source.id) : nil
        let targetItem = try item(of: target.id).flatMap { $0.local == place ? $0 : nil }

        if let temporary = sourceItem, let document = targetItem, try isNextVersion(temporary, of: document),
            try target.linkCount == 0 || canPart(target.id)
        {
            // The document gets the new bytes.
            try discardTemporary(temporary)
            try rebind(document, to: source, of: temporary, at: place, settle: settle)
            return target
        }
        if let targetItem {
            if target.linkCount == 0 {
                try makeTombstone(of: target.id, settle: settle)
            } else {
                try promote(targetItem, settle: settle)
            }
        }
        // A real move: the source's item survives, the target's item is deleted against its base version.
        if var moved = try sourceItem.flatMap({ try item($0.id) }), moved.inode == source.id {
            moved.local = place
            moved.becomesReady(at: readyTime(of: source, moved, settle))
            try judge(&moved, settle: settle)
            try update(moved)
        }
        return target
    }
}
