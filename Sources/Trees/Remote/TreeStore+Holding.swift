import FileProvider

/// Deletions in the store that wait for a person. A held item has no place in the remote tree any more, and keeps its
/// place in the base and local trees: programs see no change, and the item is not pending.
extension TreeReading {
    /// Whether an item, or a folder above it, is held.
    package func isHeld(_ item: ItemRecord) throws -> Bool {
        var current: ItemRecord? = item
        while let row = current, row.id != .root {
            if row.heldSince != nil { return true }
            current = try row.local.flatMap { try self.item($0.parent) }
        }
        return false
    }
}

extension TreeStore {
    // MARK: Holding

    /// Chooses the items to hold among those gone from the store. All of them are still in the remote tree.
    ///
    /// An item does not count if another one has taken its place in the store, or if none of its bytes would be lost:
    /// it was deleted here as well, or has local changes, which stay anyway.
    func toBeHeld(_ gone: [ItemRecord]) throws -> Set<ItemID> {
        guard hold.percent < 100 else { return [] }
        let vanishing = try gone.filter { try vanishes($0) }
        guard !vanishing.isEmpty else { return [] }
        let before = try vanishedBefore()
        try countVanished(vanishing.count, at: now)
        // Counting the known items takes longer the more there are.
        guard before + vanishing.count > hold.most else { return [] }
        let known = try remoteItemCount()
        guard hold.isExceeded(by: before + vanishing.count, of: known - 1 + before) else { return [] }
        transaction.held += vanishing.count
        return Set(vanishing.map(\.id))
    }

    private func vanishes(_ row: ItemRecord) throws -> Bool {
        guard let local = row.local, row.inode != nil else { return false }
        if try row.isModified && !row.kind.isFolder && (row.contentRevision != 0 || isWhole(row.inode)) { return false }
        // A folder goes on under its successor, with its content.
        return try row.kind.isFolder || remoteOccupant(of: row.remote ?? local, otherThan: row.id) == nil
    }

    /// How many items the store has deleted within the window.
    private func vanishedBefore() throws -> Int {
        // The clock was set back: count deletions at future moments as made now.
        let ahead = try vanished(after: now)
        if ahead > 0 {
            try forgetVanished(FileTime(nanoseconds: now.nanoseconds + 1)...FileTime.farFuture)
            try countVanished(ahead, at: now)
        }
        let begin = now.adding(seconds: -hold.window)
        try forgetVanished(FileTime.distantPast...FileTime(nanoseconds: begin.nanoseconds - 1))
        return try vanished(after: .distantPast)
    }

    // MARK: Coming back

    /// The store has the item (again): it is no longer held, and does not count as deleted.
    func comesBack(_ row: inout ItemRecord) throws {
        guard let moment = row.heldSince else { return }
        row.heldSince = nil
        transaction.returned += 1
        if row.kind.isFolder, let identifier = row.identifier { transaction.returnedFolders.append(identifier) }
        try countVanished(-1, at: moment)
    }

    /// The store has an item under the name of a held one. If the kind is the same, it is the held item under another
    /// identifier (a restored server) or in another version; an item of another kind takes the name.
    func succeed(_ row: ItemRecord, _ held: ItemRecord, _ defaults: PlaceholderDefaults) throws {
        guard InodeKind(row.kind) == InodeKind(held.kind), let identifier = row.identifier else {
            try stepAside(held)
            return try attachNew(row, defaults)
        }
        try deleteItem(row.id)
        var again = held
        let before = again.remoteFacts.capabilities
        again.identifier = identifier
        again.kind = row.kind
        again.remote = row.remote
        again.base = row.remote
        again.remoteVersion = row.remoteVersion
        again.remoteFacts = row.remoteFacts
        try comesBack(&again)
        try update(again)
        try capabilitiesChanged(of: again, from: before)
        try moveRemoteChildren(of: row.id, to: held.id)
        try reconcile([again.id], defaults: defaults)
    }

    /// A held item gives up its name to the store's new item, and stays held.
    func stepAside(_ held: ItemRecord) throws {
        guard var row = try item(held.id), row.inode != nil, let place = row.local,
            let folder = try item(place.parent)?.inode
        else { return }
        let name = try unusedName(like: place.name, in: folder)
        try moveName(place.name, in: folder, to: name, in: folder)
        row.local = TreePlace(parent: place.parent, name: name)
        row.base = row.local
        try update(row)
        changes += [.entry(folder: folder, name: place.name), .entry(folder: folder, name: name), .attributes(folder)]
    }

    // MARK: A person's decision

    /// Carries out the deletions here. Items that were changed here since are created again in the store.
    ///
    /// - Returns: how many items were held.
    package func carryOutDeletions(within item: ItemID, defaults: PlaceholderDefaults) throws -> Int {
        let held = try heldItems(within: item)
        for var row in held {
            row.heldSince = nil
            try update(row)
        }
        try reconcile(held.reversed().map(\.id), defaults: defaults)
        // A person has looked: count later deletions from zero.
        if !held.isEmpty { try forgetVanished(FileTime.distantPast...FileTime.farFuture) }
        return held.count
    }

    /// Creates held items again in the store, with the folders above them. Items with missing bytes cannot be put back;
    /// they stay held.
    ///
    /// - Returns: how many items will be created, and how many cannot.
    package func putBack(within item: ItemID) throws -> (restored: Int, incomplete: Int) {
        let held = try heldItems(within: item)
        var restored = 0
        for row in held where try putBack(row.id) { restored += 1 }
        // A folder that nobody has listed is lost with its content.
        return (restored, try heldItems(within: item).count)
    }

    /// Creates an item again in the store, and every held folder above it.
    ///
    /// - Returns: false when the item is held and its bytes are incomplete; then nothing changes.
    package func putBack(_ id: ItemID) throws -> Bool {
        transaction.concernsStore = true
        guard let row = try item(id), let inode = try row.inode.flatMap({ try inodeIfPresent($0) }) else { return true }
        if row.heldSince != nil, inode.extents != nil || (inode.isFolder && !inode.isEnumerated) { return false }
        var next: ItemRecord? = row
        while var current = next, current.id != .root {
            next = try current.local.flatMap { try item($0.parent) }
            guard current.heldSince != nil else { continue }
            current.becomesUnconfirmed(at: now)
            try update(current)
        }
        return true
    }
}
