package import FileProvider

/// A recorded part of a listing.
package struct MergedPart: Sendable {
    /// The rows of the part's items.
    package var known: Set<ItemID> = []
    /// Entries that cannot be shown, and why.
    package var refused: [(name: Filename, reason: String)] = []
    /// Items whose names are taken by items that the listing has not mentioned yet, and may rename: left to the
    /// listing's end.
    package var waiting: [Item] = []
}

/// Records a folder's first listing while it arrives.
extension TreeStore {
    /// Merges a part of the first listing of a folder. ``mergeListing(of:_:besides:ignoring:defaults:)`` ends the
    /// listing; the folder does not count as enumerated before.
    ///
    /// - Parameters:
    ///   - others: the rows of the previous parts; nil: this is the first part, and the folder may contain only items
    ///     of an earlier listing that broke off.
    /// - Returns: nil when the folder contains anything else.
    package func mergePart(
        of folder: InodeID, _ items: [Item], after others: Set<ItemID>?, ignoring: Set<ItemIdentifier> = [],
        defaults: PlaceholderDefaults
    ) throws -> MergedPart? {
        guard let inode = try inodeIfPresent(folder), inode.isFolder, let parent = try item(of: folder),
            !parent.isExcluded, let parentIdentifier = parent.identifier
        else { return nil }
        if others == nil {
            guard try !inode.isEnumerated && holdsOnlyPlaceholders(folder, parent) else { return nil }
        }
        let others = others ?? []
        var part = MergedPart()
        var changed: [ItemID] = []
        var newFolders: Int64 = 0
        var fresh = Newcomers(parent: parent.id, folder: folder, defaults: defaults)
        for var item in items where !ignoring.contains(item.identifier) {
            item.parentIdentifier = parentIdentifier
            if let problem = Self.problem(item, in: parent.id, isKnown: false) {
                part.refused.append((item.filename, problem))
                continue
            }
            if fresh.isLike(item) { part.known.formUnion(try insertShown(&fresh)) }
            let known = try self.item(identifiedBy: item.identifier)
            if known != nil { part.known.formUnion(try insertShown(&fresh)) }
            if let row = try sameKind(item, known, defaults) {
                if try isRemotelyInside(parent.id, row.id) {
                    part.refused.append((item.filename, "the provider puts a folder into itself"))
                    continue
                }
                if try unchangedItem(item, in: parent.id) == nil {
                    try updateRemote(row, to: item, in: parent.id)
                    changed.append(row.id)
                }
                part.known.insert(row.id)
            } else if let occupant = try child(of: folder, named: item.filename) {
                if let row = try self.item(of: occupant.id)?.id, others.contains(row) || part.known.contains(row) {
                    part.refused.append((item.filename, "another item has the same name"))
                } else {
                    part.waiting.append(item)
                }
            } else {
                fresh.add(item)
                if fresh.isFull { part.known.formUnion(try insertShown(&fresh)) }
                if item.kind.isFolder { newFolders += 1 }
            }
        }
        part.known.formUnion(try insertShown(&fresh))
        if newFolders > 0 { try noteArrival(in: folder, links: newFolders) }
        try reconcile(changed, defaults: defaults)
        return part
    }

    /// Removes rows of parts that turned out not to be a listing. Items that were changed, downloaded (even in part),
    /// pinned, or opened by a bookmark meanwhile stay.
    package func takeBackPart(
        _ rows: some Sequence<ItemID>, unless isOpen: (InodeID) -> Bool, defaults: PlaceholderDefaults
    ) throws {
        var unused: [ItemIdentifier] = []
        for id in rows {
            guard let row = try item(id), try isUnused(row), let identifier = row.identifier else { continue }
            if let inode = row.inode, isOpen(inode) { continue }
            unused.append(identifier)
        }
        try mergeDeletions(of: unused, mayHold: false, defaults: defaults)
    }

    private func isUnused(_ row: ItemRecord) throws -> Bool {
        guard row.local == row.remote, row.base == row.remote, row.heldSince == nil, !row.isModified, !row.isPinned,
            let inode = try row.inode.flatMap({ try inodeIfPresent($0) })
        else { return false }
        return try inode.writing == nil && inode.linkCount == (inode.isFolder ? 2 : 1) && inode.bytesPresent == 0
            && !inode.isEnumerated && !hasChildren(inode.id)
    }

    /// Nobody has listed the folder yet, and its content is as the store has it.
    private func holdsOnlyPlaceholders(_ folder: InodeID, _ item: ItemRecord) throws -> Bool {
        if try reopened.contains(folder) || lostCreations(in: item.id) { return false }
        return try showsOnlyRemoteChildren(folder, of: item.id)
    }
}
