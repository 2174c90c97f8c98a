import FileProvider

extension TreeStore {
    /// A folder of the store's has the name of another that has gone into it: each would wait for the other. The one that
    /// is here steps out of the name, the new one is shown, and it goes in, with all that lies between them.
    ///
    /// - Returns: whether it was so.
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

    /// What lies below `top` in the store down to `inner`, from above; nil: `inner` is not in it, or something between
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
