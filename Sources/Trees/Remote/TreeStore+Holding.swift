import FileProvider

/// Deletions in the store that wait for a person. What is held has no place in the remote tree any more, and keeps the
/// other two: to a program nothing has happened, and nothing of it is pending.
extension TreeReading {
    /// Whether an item, or a folder that it is in, is held.
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

    /// Which of the items that are gone from the store are to be held. They are all still in the remote tree.
    ///
    /// What has a successor at its place in the store, or none of whose bytes would go (it was deleted here as well, or
    /// is somebody's work, which stays anyway), does not count.
    func toBeHeld(_ gone: [ItemRecord]) throws -> Set<ItemID> {
        guard hold.percent < 100 else { return [] }
        let vanishing = try gone.filter { try vanishes($0) }
        guard !vanishing.isEmpty else { return [] }
        let before = try vanishedBefore()
        try countVanished(vanishing.count, at: now)
        // (To count what is known takes longer the more that is.)
        guard before + vanishing.count > hold.most else { return [] }
        let known = try remoteItemCount()
        guard hold.isExceeded(by: before + vanishing.count, of: known - 1 + before) else { return [] }
        transaction.held += vanishing.count
        return Set(vanishing.map(\.id))
    }

    private func vanishes(_ row: ItemRecord) throws -> Bool {
        guard let local = row.local, row.inode != nil else { return false }
        if try row.isModified && !row.kind.isFolder && (row.contentRevision != 0 || isWhole(row.inode)) { return false }
        // (A folder goes on under its successor, with what is in it.)
        return try row.kind.isFolder || remoteOccupant(of: row.remote ?? local, otherThan: row.id) == nil
    }

    /// How many items the store deleted in the last while.
    private func vanishedBefore() throws -> Int {
        // Where the clock was set back: the store has deleted now what it deleted at moments that have not come.
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

    /// The store has it (again): if it was held it is no more, and does not count as deleted.
    func comesBack(_ row: inout ItemRecord) throws {
        guard let moment = row.heldSince else { return }
        row.heldSince = nil
        transaction.returned += 1
        if row.kind.isFolder, let identifier = row.identifier { transaction.returnedFolders.append(identifier) }
        try countVanished(-1, at: moment)
    }

    /// The store has something under the name of what is held. Of the same kind, it is that again, under another
    /// identifier (a server that was restored) or in another version; another kind takes the name.
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

    /// What is held gives its name up to what the store has now; it goes on being held.
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

    // MARK: A person's word

    /// The deletions are carried out here. What was changed here since is somebody's work, and is made anew in the store.
    ///
    /// - Returns: how many items that were.
    package func carryOutDeletions(within item: ItemID, defaults: PlaceholderDefaults) throws -> Int {
        let held = try heldItems(within: item)
        for var row in held {
            row.heldSince = nil
            try update(row)
        }
        try reconcile(held.reversed().map(\.id), defaults: defaults)
        // Somebody has looked: what goes from now on is counted anew.
        if !held.isEmpty { try forgetVanished(FileTime.distantPast...FileTime.farFuture) }
        return held.count
    }

    /// What is held is made anew in the store, with the folders that it is in. What is not here as a whole nobody can put
    /// back; it goes on being held.
    ///
    /// - Returns: how many items will be there, and how many cannot.
    package func putBack(within item: ItemID) throws -> (restored: Int, incomplete: Int) {
        let held = try heldItems(within: item)
        var restored = 0
        for row in held where try putBack(row.id) { restored += 1 }
        // (A folder that nobody has looked into goes with what is in it.)
        return (restored, try heldItems(within: item).count)
    }

    /// An item, and every held folder that it is in, is made anew.
    ///
    /// - Returns: false when the item is held, and there is nothing whole to make it from; nothing was changed then.
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
