package import FileProvider

/// File managers' trash in the topmost folder (``Exclusions/isTrash(_:)``). The trash stays on this machine; items
/// moved into it leave the store and exist only on this machine from then on.
extension TreeStore {
    /// Whether a rename moves an item from the documents into a trash.
    package func entersTrash(
        _ from: (name: Filename, folder: InodeID), _ to: (name: Filename, folder: InodeID)
    ) throws -> Bool {
        try isTrash(to.name, in: to.folder) && !isTrash(from.name, in: from.folder)
    }

    /// Takes the item with this name, a folder with all its content, out of the store without moving it: here the item
    /// goes on as one that the store never had, and the store's copies are to be deleted.
    ///
    /// - Returns: the attributes that this made stale; nil while bytes are missing, which must be downloaded first.
    /// - Throws: ``CatalogError/Code/notAllowed`` when the store does not let an item of it be deleted.
    package func keepOnlyHere(_ name: Filename, in folder: InodeID, settle: Double) throws -> [CatalogChange]? {
        let inode = try existingChild(of: folder, named: name)
        guard let parent = try item(of: folder), let item = try item(of: inode.id) else { return [] }
        let place = TreePlace(parent: parent.id, name: name)
        // A further hard link: the store has another name of the file.
        guard item.local == place else { return [] }
        guard try isWholeTree(inode.id) else { return nil }
        let before = changes.count
        try part(item, at: place, in: folder, settle: settle)
        return Array(changes[before...])
    }

    private func part(_ top: ItemRecord, at place: TreePlace, in folder: InodeID, settle: Double) throws {
        guard let root = top.inode else { return }
        var waiting = [(item: top, place: place)]
        while let (item, place) = waiting.popLast() {
            guard let inode = item.inode else { continue }
            if let other = try nameOutside(root, of: item, besides: (folder, place.name)) {
                try goByName(item, other, settle: settle)
                continue
            }
            let own: ItemID
            if item.isExcluded, item.identifier == nil, item.sent.isEmpty {
                var item = item
                item.local = place
                try update(item)
                own = item.id
            } else {
                try requireMayDelete(item)
                // The upload may be in progress, and must then be undone.
                var gone = item
                gone.inode = nil
                gone.local = nil
                gone.contentRevision = 0
                gone.metadataRevision = 0
                gone.isPinned = false
                gone.isExcluded = false
                gone.becomesReady(at: now.adding(seconds: settle))
                try update(gone)
                let new = ItemRecord.unconfirmed(
                    inode: inode, kind: item.kind, at: place, readyAt: now, isExcluded: true)
                own = try insert(new).id
            }
            changes.append(.attributes(inode))
            guard item.kind.isFolder else { continue }
            let children = try localChildren(of: item.id)
            for child in children {
                guard let name = child.local?.name else { continue }
                waiting.append((child, TreePlace(parent: own, name: name)))
            }
        }
    }

    /// Another name of a document, outside the leaving folder and outside any trash: the store keeps the document
    /// there.
    private func nameOutside(
        _ leaving: InodeID, of item: ItemRecord, besides own: (folder: InodeID, name: Filename)
    ) throws -> (folder: InodeID, name: Filename)? {
        guard let inode = item.inode, !item.kind.isFolder, !item.isExcluded, try self.inode(inode).linkCount > 1 else {
            return nil
        }
        return try places(of: inode).first { place in
            try place != own && !isInside(place.folder, leaving) && !isTrash(place.name, in: place.folder)
        }
    }

    private func goByName(_ item: ItemRecord, _ name: (folder: InodeID, name: Filename), settle: Double) throws {
        guard let parent = try self.item(of: name.folder) else { return }
        var item = item
        item.local = TreePlace(parent: parent.id, name: name.name)
        item.becomesReady(at: now.adding(seconds: settle))
        try judge(&item, settle: settle)
        try update(item)
    }
}

extension TreeReading {
    /// Whether a folder is a trash or in one.
    func isInTrash(_ folder: ItemRecord) throws -> Bool {
        var folder = folder
        var steps = 0
        while folder.isExcluded, let place = folder.local, steps < 4_096 {
            if place.parent == .root { return Exclusions.isTrash(place.name) }
            guard let parent = try item(place.parent) else { return false }
            folder = parent
            steps += 1
        }
        return false
    }

    /// Whether a name in a folder is a trash or in one, or would be.
    package func isTrash(_ name: Filename, in folder: InodeID) throws -> Bool {
        guard let parent = try item(of: folder) else { return false }
        return try parent.id == .root ? Exclusions.isTrash(name) : isInTrash(parent)
    }

    /// Whether bytes are missing that can still be downloaded; without an identifier the local bytes are all there are.
    private func lacksBytes(_ inode: InodeRecord) throws -> Bool {
        guard inode.kind == .document, inode.extents != nil else { return false }
        return try item(of: inode.id)?.identifier != nil
    }

    /// Whether a document, or everything in a folder, is entirely on this machine.
    package func isWholeTree(_ top: InodeID) throws -> Bool {
        var waiting = [top]
        while let next = waiting.popLast() {
            guard let inode = try inodeIfPresent(next) else { continue }
            if try lacksBytes(inode) { return false }
            guard inode.isFolder else { continue }
            if !inode.isEnumerated { return false }
            var cookie: Int64 = 0
            while case let entries = try children(of: next, after: cookie, limit: 1_000), let last = entries.last {
                cookie = last.cookie
                for entry in entries {
                    if try lacksBytes(entry.inode) { return false }
                    if entry.inode.isFolder { waiting.append(entry.inode.id) }
                }
            }
        }
        return true
    }
}
