import FileProvider

extension TreeStore {
    /// A new folder of the store has the name of a folder that the store has moved into it: each would wait for the
    /// other. Frees the name of the local folder, shows the new folder, and moves the local one into it, with all
    /// folders between the two.
    ///
    /// - Returns: whether this was the case.
    func nest(_ occupant: InodeRecord, in row: ItemRecord, _ defaults: PlaceholderDefaults) throws -> Bool {
        guard row.kind.isFolder, let inner = try item(of: occupant.id), inner.isMovedRemotelyOnly,
            let chain = try chain(from: row, to: inner)
        else { return false }
        for item in chain where item.inode != nil { try detach(item) }
        try attachNew(row, defaults)
        for item in chain {
            if item.inode == nil { try attachNew(item, defaults) } else { try attachMoved(item) }
        }
        return true
    }

    /// The items from below `top` down to `inner` in the remote tree; nil: `inner` is not in `top`, or an item between
    /// them cannot be shown there.
    private func chain(from top: ItemRecord, to inner: ItemRecord) throws -> [ItemRecord]? {
        var (chain, seen) = ([inner], Set([inner.id]))
        while let parent = chain.last?.remote?.parent, parent != top.id {
            guard let item = try item(parent), seen.insert(parent).inserted, item.isNew || item.isMovedRemotelyOnly
            else { return nil }
            chain.append(item)
        }
        return chain.reversed()
    }
}
