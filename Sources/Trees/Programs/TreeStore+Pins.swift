import FileProvider

extension TreeReading {
    /// By a pin of its own, or by a pinned folder above it.
    package func isPinned(_ item: ItemRecord) throws -> Bool { try pin(of: item) != nil }

    /// The pinned item: this one, or else the nearest pinned folder above it.
    package func pin(of item: ItemRecord) throws -> ItemRecord? {
        var current = item
        var steps = 0
        while !current.isPinned {
            guard let local = current.local, let parent = try self.item(local.parent), steps < 4_096 else { return nil }
            current = parent
            steps += 1
        }
        return current
    }
}

extension TreeStore {
    package func setPinned(_ id: ItemID, _ isPinned: Bool) throws {
        guard var item = try item(id), item.isPinned != isPinned else { return }
        item.isPinned = isPinned
        try update(item)
    }

    /// A pinned item is gone from the store; the item that waits for its place (a document saved by renaming another
    /// file over it) gets the pin.
    func passPin(of item: ItemRecord) throws {
        guard item.isPinned, let place = item.local, var next = try remoteOccupant(of: place, otherThan: item.id),
            next.base == nil, next.kind.isFolder == item.kind.isFolder
        else { return }
        next.isPinned = true
        try update(next)
    }
}
