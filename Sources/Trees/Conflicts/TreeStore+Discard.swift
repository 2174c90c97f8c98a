import FileProvider

/// Discards local changes: the local tree and base go back to the state of the store, in one transaction.
extension TreeStore {
    /// Applies ``TreeReading/discards(of:)``, if the answer is still exactly the same.
    ///
    /// - Throws: ``CatalogError/Code/replaced`` when the consequences have changed meanwhile.
    package func discard(_ id: ItemID, agreed: [Discard], defaults: PlaceholderDefaults) throws {
        guard try discards(of: id) == agreed else {
            throw CatalogError(.replaced, "the item was changed meanwhile; run hydrant discard again")
        }
        for one in agreed {
            if one.kinds == [.creation] {
                try removeUnsent(one)
            } else if one.kinds == [.deletion], let item = one.item {
                try takeBackDeletion(item, current: nil, defaults: defaults)
            } else if let item = one.item, var row = try self.item(item), let inode = one.inode {
                try goBack(&row, try self.inode(inode), one.kinds, defaults)
            }
        }
        try showWaiting(defaults)
    }

    /// Removes every name of an item that the store never had.
    private func removeUnsent(_ one: Discard) throws {
        guard let id = one.inode, var inode = try inodeIfPresent(id) else { return }
        for place in try places(of: id) {
            try unlinkName(place.name, in: place.folder)
            try touch(folder: place.folder, links: inode.isFolder ? -1 : 0)
            changes += [.entry(folder: place.folder, name: place.name), .attributes(place.folder)]
        }
        inode.linkCount = 0
        inode.changed = now
        try update(inode)
        if let item = one.item, let row = try self.item(item) {
            if let place = row.local { freedPlaces.append(place) }
            // If the item was sent after all and the reply lost, the store has it, and a listing shows it.
            try deleteItem(item)
        }
        changes.append(.removed(id))
    }

    private func goBack(
        _ row: inout ItemRecord, _ record: InodeRecord, _ kinds: [Discard.Kind], _ defaults: PlaceholderDefaults
    ) throws {
        var inode = record
        if kinds.contains(.move) { try moveBack(&row, &inode) }
        row.contentRevision = 0
        row.metadataRevision = 0
        try endFavoriteWish(of: inode.id)
        row.failure = nil
        row.sent = []
        row.readyAt = now
        let facts = row.remoteFacts
        if kinds.contains(.metadata), let metadata = row.remoteVersion?.metadata {
            row.baseVersion?.metadata = metadata
        }
        if kinds.contains(.contents) {
            row.baseVersion = row.remoteVersion
            inode.generation += 1
            inode.size = facts.size
            inode.baseSize = facts.size
            inode.extents = facts.size == 0 ? nil : RangeSet()
            inode.mode &= ~0o6000
            try dropCapabilities(of: inode.id)
        }
        if kinds.contains(.contents) || kinds.contains(.metadata) {
            inode.takeMode(facts.mode)
            if row.kind.isDocument { inode.modified = facts.modified }
            if let attributes = facts.extendedAttributes { _ = try replaceUserAttributes(of: inode.id, by: attributes) }
        }
        inode.changed = now
        try update(inode)
        try update(row)
        changes.append(kinds.contains(.contents) ? .contents(inode.id) : .attributes(inode.id))
        for place in try places(of: inode.id) where kinds.contains(.contents) {
            changes.append(.entry(folder: place.folder, name: place.name))
        }
        if kinds.contains(.contents) { try takeBackDelayedDeletions(for: row.id, defaults: defaults) }
        // Changes of the store that the local change stood against.
        try reconcile([row.id], defaults: defaults)
    }

    /// Moves an item to its place in the store; the caller has checked that the place is free.
    private func moveBack(_ row: inout ItemRecord, _ inode: inout InodeRecord) throws {
        guard let from = row.local, let to = row.remote, from != to, let old = try item(from.parent)?.inode,
            let new = try item(to.parent)?.inode
        else { return }
        // A further hard link may have the name already.
        if try child(of: new, named: to.name) == nil {
            try moveName(from.name, in: old, to: to.name, in: new)
        } else {
            try unlinkName(from.name, in: old)
            inode.linkCount -= 1
        }
        try touch(folder: old, links: inode.isFolder ? -1 : 0)
        try touch(folder: new, links: inode.isFolder ? 1 : 0)
        freedPlaces.append(from)
        row.local = to
        row.base = to
        changes += [
            .entry(folder: old, name: from.name), .entry(folder: new, name: to.name), .attributes(old),
            .attributes(new),
        ]
    }
}
