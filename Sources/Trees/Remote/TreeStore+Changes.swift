package import FileProvider
import Foundation

/// The provider's changes since an anchor.
extension TreeReading {
    static var anchorKey: String { "sync anchor" }

    /// The anchor up to which this catalog has the store's changes; nil: unknown.
    package func syncAnchor() throws -> SyncAnchor? {
        try note(Self.anchorKey).flatMap { Data(base64Encoded: $0) }.map { SyncAnchor(bytes: $0) }
    }

}

extension TreeStore {
    /// Commit the anchor together with its changes.
    package func takeSyncAnchor(_ anchor: SyncAnchor) throws {
        try takeNote(Self.anchorKey, Data(anchor.bytes).base64EncodedString())
    }

    /// Everything must be listed again.
    package func forgetSyncAnchor() throws {
        try forgetNote(Self.anchorKey)
    }

    /// Merges changes, in any order: of known items, and of new items in enumerated folders. Items in folders that
    /// nobody has listed come when a program lists the folder.
    ///
    /// - Parameters:
    ///   - shown: new items that are merged in any folder, because a known item has moved into them.
    ///   - settling: items of earlier pages, which may have waited for these.
    ///   - ignoring: items that were changed from here meanwhile.
    /// - Returns: in ``MergeResult/missing`` the items to ask for one by one, because the changes do not tell.
    package func mergeChanges(
        updated: [Item], deleted: [ItemIdentifier], showing shown: Set<ItemIdentifier> = [],
        settling earlier: [ItemIdentifier] = [], ignoring: Set<ItemIdentifier> = [], defaults: PlaceholderDefaults
    ) throws -> MergeResult {
        var result = MergeResult()
        let gone = Set(deleted)
        var uncertain = ignoring.intersection(gone)
        var waiting: [Item] = []
        var seen: Set<ItemIdentifier> = []
        if let root = updated.last(where: { $0.identifier == .rootContainer }) { try mergeRoot(root) }
        // Of two reports on one item, the later is right.
        for item in updated.reversed() where item.identifier != .rootContainer && seen.insert(item.identifier).inserted
        {
            if let problem = item.problem {
                result.refused.append((item.filename, problem))
            } else if ignoring.contains(item.identifier) || gone.contains(item.identifier) {
                uncertain.insert(item.identifier)
            } else {
                waiting.append(item)
            }
        }
        waiting.reverse()
        let (placed, left) = try place(waiting, showing: shown, defaults)
        for item in left where try self.item(identifiedBy: item.identifier) != nil { uncertain.insert(item.identifier) }
        // New folders first: items may move into them.
        try reconcile(placed.folders, defaults: defaults)
        try reconcile(placed.others, defaults: defaults)
        // After the moves: an item that has left a folder is not deleted with it.
        var certain: [ItemIdentifier] = []
        for identifier in deleted where !uncertain.contains(identifier) {
            // An item that we are moving out of a folder is not deleted with it.
            if try ignoring.contains(where: { try isRemotelyInside($0, identifier) }) {
                uncertain.insert(identifier)
            } else {
                certain.append(identifier)
            }
        }
        try mergeDeletions(of: certain, defaults: defaults)
        // Items that waited for a folder or a name.
        let waited = try earlier.compactMap { try self.item(identifiedBy: $0)?.id }
        try reconcile(placed.folders + placed.others + waited, defaults: defaults)
        result.missing = Array(uncertain)
        return result
    }

    /// Writes items into the remote tree, parents first.
    ///
    /// - Returns: the rows of these items; and the items whose folder is unknown, or that are inside such an item.
    private func place(
        _ items: [Item], showing shown: Set<ItemIdentifier>, _ defaults: PlaceholderDefaults
    ) throws -> (placed: (folders: [ItemID], others: [ItemID]), left: [Item]) {
        var placed: (folders: [ItemID], others: [ItemID]) = ([], [])
        var waiting = items
        while true {
            var left: [Item] = []
            for item in waiting {
                guard let parent = try self.item(identifiedBy: item.parentIdentifier), parent.kind.isFolder else {
                    left.append(item)
                    continue
                }
                if let row = try sameKind(item, defaults) {
                    guard try !isRemotelyInside(parent.id, row.id) else {
                        left.append(item)
                        continue
                    }
                    try updateRemote(row, to: item, in: parent.id)
                    placed.others.append(row.id)
                } else if parent.id == .root, Exclusions.isTrash(item.filename) {
                    // As in a listing: the item is not shown.
                    continue
                } else if try shown.contains(item.identifier) || isListed(parent) {
                    let row = try insertRemote(item, in: parent.id)
                    if item.kind.isFolder { placed.folders.append(row.id) } else { placed.others.append(row.id) }
                }
            }
            if left.isEmpty || left.count == waiting.count { return (placed, left) }
            waiting = left
        }
    }

    private func isRemotelyInside(_ inner: ItemIdentifier, _ outer: ItemIdentifier) throws -> Bool {
        guard let inner = try item(identifiedBy: inner), let outer = try item(identifiedBy: outer) else { return false }
        return try isRemotelyInside(inner.id, outer.id)
    }

    private func isListed(_ folder: ItemRecord) throws -> Bool {
        try folder.inode.flatMap { try inodeIfPresent($0) }?.isEnumerated == true
    }

    /// The store does not have the folder (any more): its local content is complete.
    package func becomesListed(_ folder: InodeID) throws {
        guard var inode = try inodeIfPresent(folder), inode.isFolder, !inode.isEnumerated,
            try item(of: folder)?.identifier == nil
        else { return }
        inode.isEnumerated = true
        try update(inode)
        changes.append(.attributes(folder))
    }

    // MARK: Placeholders

    /// Shows an item of the provider in a folder, listed or not.
    ///
    /// - Throws: ``CatalogError/Code/unsupported`` or ``CatalogError/Code/intoItself`` when it cannot be shown there,
    ///   ``CatalogError/Code/notFound`` when the store does not know the folder, ``CatalogError/Code/exists`` when
    ///   something else has the name, ``CatalogError/Code/notPermitted`` when it was moved or deleted here.
    package func writePlaceholder(_ item: Item, in folder: InodeID, defaults: PlaceholderDefaults) throws {
        if let problem = item.problem { throw CatalogError(.unsupported, "\(item.filename): \(problem)") }
        if folder == .root, Exclusions.isTrash(item.filename) {
            throw CatalogError(.unsupported, "\(item.filename): a file manager's trash folder is not synced")
        }
        guard let parent = try self.item(of: folder), let identifier = parent.identifier, parent.kind.isFolder else {
            throw CatalogError(.notFound, "the folder of \(item.filename) is not in the store yet")
        }
        guard identifier == item.parentIdentifier else {
            throw CatalogError(
                .unsupported, "\(item.filename) is in folder \(item.parentIdentifier), but the URL is in \(identifier)")
        }
        let place = TreePlace(parent: parent.id, name: item.filename)
        let known = try sameKind(item, defaults)
        if let known {
            guard known.local == known.base || known.local == place else {
                throw CatalogError(
                    .notPermitted,
                    "\(item.filename) was moved or deleted here, and the store has not confirmed that yet")
            }
            guard try !isRemotelyInside(parent.id, known.id) else {
                throw CatalogError(.intoItself, "\(item.filename): a folder cannot be in itself")
            }
        }
        if let occupant = try child(of: folder, named: item.filename), occupant.id != known?.inode {
            // A folder that was made on both sides is one folder.
            let other = try self.item(of: occupant.id)
            guard let other, item.kind.isFolder, other.kind.isFolder, other.identifier == nil, !other.isExcluded else {
                throw CatalogError(.exists, "\(item.filename): another item has the name here")
            }
        }
        let row: ItemID
        if let known {
            try updateRemote(known, to: item, in: parent.id)
            row = known.id
        } else {
            row = try insertRemote(item, in: parent.id).id
        }
        try reconcile([row], defaults: defaults)
        let shown = try child(of: folder, named: item.filename).flatMap { try self.item(of: $0.id) }
        guard shown?.identifier == item.identifier else {
            throw CatalogError(.exists, "\(item.filename): another item has the name here")
        }
    }
}
