package import FileProvider

/// The capabilities that the store grants for an item (``ItemCapabilities``), and their effects on this machine.
///
/// Capabilities are part of the remote tree. The mode set by programs or the store stays as it is; capabilities only
/// hide bits of it. Items that the store does not have (yet), or never will, have all capabilities.
extension InodeRecord {
    /// The permission bits that are not shown.
    package var hiddenMode: UInt32 {
        let writes: ItemCapabilities
        switch kind {
        case .document: writes = .writing
        case .folder: writes = .addingSubItems
        default: return 0
        }
        return (capabilities.contains(writes) ? 0 : 0o222) | (capabilities.contains(.reading) ? 0 : 0o444)
    }

    /// The permission bits that programs see, 0o7777.
    package var shownMode: UInt32 { mode & ~hiddenMode }
}

extension TreeStore {
    /// An item's capabilities have changed: its mode looks different.
    func capabilitiesChanged(of item: ItemRecord, from before: ItemCapabilities) throws {
        guard item.remoteFacts.capabilities != before, let id = item.inode, var inode = try inodeIfPresent(id) else {
            return
        }
        inode.changed = now
        try update(inode)
        changes.append(.attributes(id))
    }

    /// Takes the provider's report about the topmost folder: only its capabilities.
    package func mergeRoot(_ root: Item) throws {
        guard var row = try item(.root), row.remoteFacts.capabilities != root.capabilities else { return }
        let before = row.remoteFacts.capabilities
        row.remoteFacts.capabilities = root.capabilities
        try update(row)
        try capabilitiesChanged(of: row, from: before)
    }

    // MARK: Checks before a change; each throws ``CatalogError/Code/notAllowed``, or ``CatalogError/Code/otherVolume``

    /// Adding an item to a folder. An item that stays on this machine does not concern the store, and the next version
    /// of a document that has just given up its name is not new.
    package func requireMayAdd(_ name: Filename, to folder: InodeID, staysHere: Bool = false) throws {
        guard let parent = try item(of: folder), !parent.capabilities.contains(.addingSubItems), !staysHere,
            !isExcluded(name, in: parent)
        else { return }
        if try vacatedDocument(TreePlace(parent: parent.id, name: name)) != nil { return }
        throw CatalogError(.notAllowed, "\(name): the store does not permit adding items to \(parent.shownName)")
    }

    /// unlink(2), rmdir(2). The store has only one name of an inode; when that is removed the document moves to
    /// another.
    package func requireMayRemove(_ name: Filename, in folder: InodeID) throws {
        guard let inode = try child(of: folder, named: name), let item = try item(of: inode.id),
            try isPrimary(item, name, in: folder)
        else { return }
        if inode.isFolder || inode.linkCount == 1 { return try requireMayDelete(item) }
        try requireMayMove(item)
    }

    /// rename(2).
    package func requireMayRename(
        _ name: Filename, in folder: InodeID, to newName: Filename, in newFolder: InodeID
    ) throws {
        guard let source = try child(of: folder, named: name), let parent = try item(of: newFolder) else { return }
        let target = try child(of: newFolder, named: newName)
        if target?.id == source.id { return }
        let place = TreePlace(parent: parent.id, name: newName)
        let moved = try item(of: source.id).flatMap { try isPrimary($0, name, in: folder) ? $0 : nil }
        let replaced = try target.flatMap { try item(of: $0.id) }.flatMap { $0.local == place ? $0 : nil }
        if let moved {
            try requireMayMove(moved)
            try requireSameVolume(moved, newName, from: folder, to: newFolder)
        }
        if let moved, let replaced, try isNextVersion(moved, of: replaced) { return }
        if let replaced { try requireMayDelete(replaced) }
        guard let moved else { return }
        let comes = folder != newFolder || moved.isExcluded
        if comes { try requireMayAdd(newName, to: newFolder, staysHere: moved.identifier == nil && parent.isExcluded) }
    }

    /// renameat2(2), RENAME_EXCHANGE.
    package func requireMayExchange(
        _ name: Filename, in folder: InodeID, with newName: Filename, in newFolder: InodeID
    ) throws {
        for (from, to) in [((name, folder), (newName, newFolder)), ((newName, newFolder), (name, folder))] {
            guard let inode = try child(of: from.1, named: from.0), let item = try item(of: inode.id),
                try isPrimary(item, from.0, in: from.1)
            else { continue }
            try requireMayMove(item)
            try requireSameVolume(item, to.0, from: from.1, to: to.1)
            if from.1 != to.1 { try requireMayAdd(to.0, to: to.1) }
        }
    }

    /// link(2). When the first name is removed, the store is asked to move the document to the next one.
    package func requireMayLink(_ inode: InodeID, to name: Filename, in folder: InodeID) throws {
        guard let item = try item(of: inode), let place = try place(of: inode) else { return }
        try requireSameVolume(item, name, from: place.folder, to: folder)
    }

    /// The store moves nothing between volumes. An item that the store does not have is created at its destination; a
    /// new folder, however, may contain items that the store has.
    private func requireSameVolume(
        _ item: ItemRecord, _ name: Filename, from folder: InodeID, to newFolder: InodeID
    ) throws {
        guard folder != newFolder, item.identifier != nil || item.kind.isFolder && !item.isExcluded,
            try volume(of: folder) != volume(of: newFolder)
        else { return }
        throw CatalogError(.otherVolume, "\(name): the store cannot move items between two of its volumes")
    }

    /// The nearest folder, from this one up, that is the top of a volume.
    private func volume(of folder: InodeID) throws -> InodeID {
        var current = folder
        while current != .root {
            if try item(of: current)?.remoteFacts.isVolume == true { return current }
            guard let place = try place(of: current) else { return .root }
            current = place.folder
        }
        return .root
    }

    private func requireMayMove(_ item: ItemRecord) throws {
        if item.capabilities.contains(.renaming) { return }
        throw CatalogError(.notAllowed, "\(item.shownName): the store does not permit renaming or moving it")
    }

    func requireMayDelete(_ item: ItemRecord) throws {
        if item.capabilities.contains(.deleting) { return }
        throw CatalogError(.notAllowed, "\(item.shownName): the store does not permit deleting it")
    }
}

extension TreeReading {
    /// Contents, dates, mode, attributes.
    package func requireMayWrite(_ id: InodeID) throws {
        guard let item = try item(of: id), !item.capabilities.contains(.writing) else { return }
        throw CatalogError(.notAllowed, "\(item.shownName): the store does not permit changing it")
    }
}

extension ItemRecord {
    /// For messages; the topmost folder has no name.
    fileprivate var shownName: String { id == .root ? "the root folder" : local?.name.string ?? id.description }
}
