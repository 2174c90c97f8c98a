package import FileProvider

/// An item whose local tree differs from base, with the facts that planning needs.
package struct PendingItem: Sendable, Equatable {
    package var item: ItemRecord
    /// The identifier of the item's destination folder; nil when that folder is not confirmed.
    package var parentIdentifier: ItemIdentifier?
    /// The item at this item's place in the remote tree, if any.
    package var occupant: ItemRecord?
    /// For a folder that was deleted here: the items that the provider still has in it.
    package var remoteChildren: RemoteChildren

    /// At the provider, the destination folder is still inside this item, and must be moved out first.
    package var goesIntoItself = false
    /// No step will move the destination folder out: the other side has put it there, crosswise.
    package var staysInItself = false
    /// Another item may have been created at this place at the provider: find out first.
    package var placeMayBeTaken = false
    /// For a folder with another mode or date: an item in it must be sent first. The mode may forbid that, and sending
    /// the item changes the folder's date.
    package var hasUnsentChildren = false

    package enum RemoteChildren: Sendable {
        case none
        /// Only items that are being deleted here or moved away as well.
        case leaving
        /// Items that were never shown here, or never in this folder: the provider has moved them into it.
        case new
    }

    package init(
        item: ItemRecord, parentIdentifier: ItemIdentifier?, occupant: ItemRecord?,
        remoteChildren: RemoteChildren
    ) {
        self.item = item
        self.parentIdentifier = parentIdentifier
        self.occupant = occupant
        self.remoteChildren = remoteChildren
    }
}

extension TreeReading {
    /// The next pending changes that may be sent at `moment`, oldest first, at most `limit`.
    ///
    /// - Parameter lasting: codes of permanent failures: items that failed with these keep no folder waiting.
    package func pending(at moment: FileTime, limit: Int, lasting: [String] = []) throws -> [PendingItem] {
        try pendingItems(at: moment, limit: limit).map { item, parent in
            var pending = PendingItem(
                item: item, parentIdentifier: parent,
                occupant: try item.local.flatMap { try remoteOccupant(of: $0, otherThan: item.id) },
                remoteChildren: item.kind.isFolder && item.local == nil
                    ? try remoteChildrenState(item.id) : .none)
            if item.local != item.base, let local = item.local {
                pending.placeMayBeTaken = try lostCreation(at: local) != nil
            }
            if item.kind.isFolder, item.local != item.base, item.identifier != nil, let local = item.local {
                pending.goesIntoItself = try isRemotelyInside(local.parent, item.id)
                if pending.goesIntoItself { pending.staysInItself = try !leaves(local.parent, item.id) }
            }
            if item.kind.isFolder, item.identifier != nil, item.metadataRevision != 0, item.local == item.base {
                pending.hasUnsentChildren = try hasUnsentChildren(item.id, at: moment, lasting: lasting)
            }
            return pending
        }
    }

    /// For an item inside another in the remote tree: whether it, or a folder between the two, is being moved here.
    private func leaves(_ inner: ItemID, _ outer: ItemID) throws -> Bool {
        var current = try item(inner)
        while let row = current, row.id != outer {
            if row.local != row.base { return true }
            current = try row.remote.flatMap { try item($0.parent) }
        }
        return false
    }

    private func remoteChildrenState(_ id: ItemID) throws -> PendingItem.RemoteChildren {
        switch try hasNewRemoteChildren(id) {
        case nil: return try lostCreations(in: id) ? .leaving : .none
        case false: return .leaving
        // The new item may have been created from here: find out first.
        case true: return try lostCreations(in: id) ? .leaving : .new
        }
    }
}
