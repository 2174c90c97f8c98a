import FileProvider

/// Items that stay on this machine.
extension TreeStore {
    /// Whether a new item with this name in this folder stays on this machine.
    func isExcluded(_ name: Filename, in parent: ItemRecord) -> Bool {
        parent.isExcluded || exclusions.match(name) || (parent.id == .root && Exclusions.isTrash(name))
    }

    /// An item has a new place: an item that the store never had is judged anew by its name. Any other item ends the
    /// exclusion of the folders above it.
    func judge(_ item: inout ItemRecord, settle: Double) throws {
        guard let local = item.local, let parent = try self.item(local.parent) else { return }
        if item.identifier == nil, item.isExcluded || !item.kind.isFolder {
            let wasExcluded = item.isExcluded
            // An item that the store may have can be excluded only after that is known.
            item.isExcluded = isExcluded(local.name, in: parent) && !item.isLost
            if wasExcluded && !item.isExcluded { try include(&item) }
        } else if parent.isExcluded, try !isInTrash(parent) {
            try includeFolder(parent, settle: settle)
        }
    }

    private func includeFolder(_ folder: ItemRecord, settle: Double) throws {
        var folder = folder
        while folder.isExcluded {
            folder.isExcluded = false
            folder.becomesReady(at: now.adding(seconds: settle))
            try update(folder)
            guard let parent = try folder.local.flatMap({ try item($0.parent) }) else { return }
            folder = parent
        }
    }

    /// An excluded item, and all items in it, become visible to the store.
    private func include(_ item: inout ItemRecord) throws {
        if item.kind.isDocument { item.contentRevision = nextRevision(after: item.contentRevision) }
        guard item.kind.isFolder else { return }
        for var child in try localChildren(of: item.id)
        where child.isExcluded && child.local.map({ !exclusions.match($0.name) }) ?? false {
            child.isExcluded = false
            try include(&child)
            child.becomesReady(at: item.readyAt)
            try update(child)
        }
    }
}
