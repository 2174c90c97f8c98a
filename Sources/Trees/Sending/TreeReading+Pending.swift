package import FileProvider

/// One item whose local tree differs from base, with what a plan for it needs to know.
package struct PendingItem: Sendable, Equatable {
    package var item: ItemRecord
    /// The identifier of the folder it is to be in; nil when that folder is itself not confirmed.
    package var parentIdentifier: ItemIdentifier?
    /// Who has its place in the remote tree, if somebody has.
    package var occupant: ItemRecord?
    /// What the provider still has in it (folders that were deleted here).
    package var remoteChildren: RemoteChildren

    /// At the provider, the folder it is to be in is still inside it: that one must come out first.
    package var goesIntoItself = false
    /// And nobody here moves it out: the other side put it there, crosswise.
    package var staysInItself = false
    /// Something else may have been made in its place at the provider: that is found out first.
    package var placeIsDoubtful = false
    /// Of a folder with another mode or date: something in it is to be sent first. The mode may forbid it, and it gives the
    /// folder another date.
    package var hasUnsentChildren = false

    package enum RemoteChildren: Sendable {
        case none
        /// Only what is being deleted or moved away from here as well.
        case leaving
        /// Something that has never been shown here, or not in there: the provider has moved it into it.
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
    /// - Parameter lasting: codes of failures that do not pass by themselves: what failed by them keeps no folder waiting.
    package func pending(at moment: FileTime, limit: Int, lasting: [String] = []) throws -> [PendingItem] {
        try pendingItems(at: moment, limit: limit).map { item, parent in
            var pending = PendingItem(
                item: item, parentIdentifier: parent,
                occupant: try item.local.flatMap { try remoteOccupant(of: $0, otherThan: item.id) },
                remoteChildren: item.kind.isFolder && item.local == nil
                    ? try remoteChildrenState(item.id) : .none)
            if item.local != item.base, let local = item.local {
                pending.placeIsDoubtful = try lostCreation(at: local) != nil
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

    /// Of an item that is in another in the remote tree: whether it, or a folder between the two, is being moved here.
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
        // (What is new may be what was made from here: that is found out first.)
        case true: return try lostCreations(in: id) ? .leaving : .new
        }
    }
}
