package import FileProvider

/// How placeholders are dressed: who owns them and which mode they have where the store says nothing.
package struct PlaceholderDefaults: Sendable {
    package var uid: UInt32
    package var gid: UInt32
    package var documentMode: UInt32
    package var folderMode: UInt32
    package init(uid: UInt32, gid: UInt32, documentMode: UInt32 = 0o644, folderMode: UInt32 = 0o755) {
        self.uid = uid
        self.gid = gid
        self.documentMode = documentMode
        self.folderMode = folderMode
    }

    /// Of a link the mode means nothing, and is shown as everywhere (symlink(7)).
    func mode(of kind: ItemKind) -> UInt32 {
        switch kind {
        case .document: documentMode
        case .folder: folderMode
        case .symbolicLink: 0o777
        }
    }
}

/// What merging a listing left open.
package struct MergeResult: Sendable {
    /// Items that were in the folder and are not in its listing any more. Absence is not deletion: ask
    /// for each of them.
    package var missing: [ItemIdentifier] = []
    /// Entries that cannot be shown, and why.
    package var refused: [(name: Filename, reason: String)] = []
}

/// Writing down what the provider says. It edits the remote tree only; ``reconcile(_:)`` then brings to
/// the local tree what no local change stands against.
extension TreeStore {
    /// Takes the complete listing of a folder.
    ///
    /// - Parameters:
    ///   - others: rows that are in it besides `items`, as the catalog has them already.
    ///   - ignoring: items that were changed from here while the listing was made: what it says of them, or that they are
    ///     not in it, is not taken.
    package func mergeListing(
        of folder: InodeID, _ items: [Item], besides others: Set<ItemID> = [], ignoring: Set<ItemIdentifier> = [],
        defaults: PlaceholderDefaults
    ) throws -> MergeResult {
        var result = MergeResult()
        guard var inode = try inodeIfPresent(folder), inode.isFolder, let parent = try item(of: folder),
            !parent.isExcluded, let parentIdentifier = parent.identifier
        else { return result }
        let difference = try difference(of: parent.id, items, besides: others, ignoring: ignoring)
        result.refused = difference.refused
        var missing = Set(difference.missing)
        // A store may give a document a new identifier (paths after a rename of the folder): the same
        // name, kind and contents are the same document.
        var missingByName: [Filename: ItemRecord] = [:]
        for identifier in missing {
            guard let row = try self.item(identifiedBy: identifier), let place = row.remote else { continue }
            missingByName[place.name] = row
        }
        var changed: [ItemID] = []
        let isUntouched = try !inode.isEnumerated && isUntouched(folder, parent)
        var newFolders: Int64 = 0
        // By name: what is new goes to the end of every index, and not into pages all over the catalog.
        let newcomers = isUntouched ? difference.changed.sorted { $0.filename < $1.filename } : difference.changed
        for var item in newcomers {
            item.parentIdentifier = parentIdentifier
            if let row = try sameKind(item, defaults) {
                if try isRemotelyInside(parent.id, row.id) {
                    result.refused.append((item.filename, "the provider puts a folder into itself"))
                } else {
                    try updateRemote(row, to: item, in: parent.id)
                    changed.append(row.id)
                }
            } else if let row = missingByName[item.filename], isSameDocument(row, item) {
                missing.remove(row.identifier!)
                var renamed = row
                renamed.identifier = item.identifier
                try updateRemote(renamed, to: item, in: parent.id)
                changed.append(row.id)
            } else if isUntouched {
                try insertShown(item, in: parent.id, folder, defaults)
                if item.kind.isFolder { newFolders += 1 }
            } else {
                changed.append(try insertRemote(item, in: parent.id).id)
            }
        }
        if newFolders > 0 { try noteArrival(in: folder, links: newFolders) }
        result.missing = Array(missing)
        try reconcile(changed, defaults: defaults)
        if !inode.isEnumerated {
            inode = try self.inode(folder)
            inode.isEnumerated = true
            try update(inode)
            changes.append(.attributes(folder))
        }
        return result
    }

    /// Nobody has looked into the folder yet, and nothing is in it here: what the store has there stands against nothing.
    private func isUntouched(_ folder: InodeID, _ item: ItemRecord) throws -> Bool {
        try !reopened.contains(folder) && !hasChildren(folder) && !lostCreations(in: item.id)
    }

    /// As ``insertRemote(_:in:)`` and then ``attachNew(_:_:)``, in a folder that is untouched. Of its names the kernel
    /// knows nothing yet.
    @discardableResult
    func insertShown(
        _ item: Item, in parent: ItemID, _ folder: InodeID, _ defaults: PlaceholderDefaults
    ) throws -> ItemID {
        var row = newRecord(item, in: parent)
        let inode = try insert(InodeRecord(placeholderOf: row, defaults))
        if let attributes = row.remoteFacts.extendedAttributes, !attributes.isEmpty {
            _ = try replaceUserAttributes(of: inode.id, by: attributes)
        }
        try link(inode.id, in: folder, as: item.filename)
        row.inode = inode.id
        row.local = row.remote
        row.base = row.remote
        row.baseVersion = row.remoteVersion
        return try insert(row).id
    }

    /// Takes what the provider says of one item that is known here.
    package func mergeItem(_ item: Item, defaults: PlaceholderDefaults) throws {
        if item.identifier == .rootContainer { return try mergeRoot(item) }
        guard item.problem == nil, let row = try sameKind(item, defaults), row.id != .root,
            let parent = try self.item(identifiedBy: item.parentIdentifier)
        else { return }
        guard try !isRemotelyInside(parent.id, row.id) else { return }
        try updateRemote(row, to: item, in: parent.id)
        try reconcile([row.id], defaults: defaults)
    }

    /// The provider answered that it has no such item.
    package func mergeDeletion(of identifier: ItemIdentifier, defaults: PlaceholderDefaults) throws {
        try mergeDeletions(of: [identifier], defaults: defaults)
    }

    /// The provider answered that it has none of these. What is told together is to be taken together: how much it is
    /// decides whether it is held (``DeletionHold``).
    ///
    /// - Parameter mayHold: false: they are not deleted, only no longer to be shown as they were.
    package func mergeDeletions(
        of identifiers: [ItemIdentifier], mayHold: Bool = true, defaults: PlaceholderDefaults
    ) throws {
        var gone: [ItemRecord] = []
        var seen: Set<ItemID> = [.root]
        for identifier in identifiers {
            guard let row = try item(identifiedBy: identifier), seen.insert(row.id).inserted else { continue }
            // Of what is held already it is no news.
            if row.heldSince == nil || !mayHold { gone.append(row) }
        }
        // What is in a folder is gone with it.
        var index = 0
        while index < gone.count {
            gone += try remoteChildren(of: gone[index].id).filter { seen.insert($0.id).inserted }
            index += 1
        }
        gone = foldersFirst(gone)
        try keepMoved(&gone)
        let holding = try mayHold ? toBeHeld(gone) : []
        for var row in gone {
            row.remote = nil
            row.remoteVersion = nil
            row.heldSince = holding.contains(row.id) ? now : nil
            try update(row)
        }
        try reconcile(gone.reversed().map(\.id), defaults: defaults)
        // Something else may have the place of what is held.
        for row in gone where holding.contains(row.id) {
            if let place = row.local { freedPlaces.append(place) }
        }
        try showWaiting(defaults)
    }

    /// Whatever order they were told in: what is in a folder is looked at before the folder goes.
    private func foldersFirst(_ rows: [ItemRecord]) -> [ItemRecord] {
        let ids = Set(rows.map(\.id))
        var inside: [ItemID: [ItemRecord]] = [:]
        var ordered: [ItemRecord] = []
        for row in rows {
            if let parent = row.remote?.parent, ids.contains(parent) {
                inside[parent, default: []].append(row)
            } else {
                ordered.append(row)
            }
        }
        var index = 0
        while index < ordered.count {
            ordered += inside.removeValue(forKey: ordered[index].id) ?? []
            index += 1
        }
        return ordered + inside.values.flatMap { $0 }
    }

    /// What was moved here in a folder goes on as far as it is here, as a document that was moved by itself does: somebody
    /// cares for it.
    ///
    /// - Parameter gone: folders before what is in them.
    private func keepMoved(_ gone: inout [ItemRecord]) throws {
        var moved: Set<ItemID> = []
        for index in gone.indices {
            guard let local = gone[index].local else { continue }
            if gone[index].kind.isFolder {
                if local != gone[index].base || moved.contains(local.parent) { moved.insert(gone[index].id) }
            } else if try moved.contains(local.parent) && isWhole(gone[index].inode) {
                gone[index].becomesUnconfirmed(at: now)
            }
        }
    }

    /// The row that an item goes by. One that became another kind of thing is no longer the same.
    func sameKind(_ item: Item, _ defaults: PlaceholderDefaults) throws -> ItemRecord? {
        guard let row = try self.item(identifiedBy: item.identifier) else { return nil }
        if InodeKind(row.kind) == InodeKind(item.kind) { return row }
        try mergeDeletions(of: [item.identifier], mayHold: false, defaults: defaults)
        return nil
    }

    private func isSameDocument(_ row: ItemRecord, _ item: Item) -> Bool {
        row.kind == item.kind && row.identifier != nil && row.remoteVersion?.content == item.version.content
    }

    func updateRemote(_ row: ItemRecord, to item: Item, in parent: ItemID) throws {
        transaction.concernsStore = true
        var updated = row
        try comesBack(&updated)
        updated.setRemote(item, in: parent)
        try update(updated)
        try capabilitiesChanged(of: updated, from: row.remoteFacts.capabilities)
    }

    func insertRemote(_ item: Item, in parent: ItemID) throws -> ItemRecord {
        transaction.concernsStore = true
        return try insert(newRecord(item, in: parent))
    }

    private func newRecord(_ item: Item, in parent: ItemID) -> ItemRecord {
        var row = ItemRecord(
            id: .root, inode: nil, identifier: item.identifier, kind: item.kind, base: nil, baseVersion: nil,
            local: nil, contentRevision: 0, metadataRevision: 0, remote: nil, remoteVersion: nil,
            remoteFacts: RemoteFacts(item), readyAt: now, failure: nil, sent: [], isPinned: false,
            isExcluded: false)
        row.setRemote(item, in: parent)
        return row
    }
}

extension ItemRecord {
    mutating func setRemote(_ item: Item, in parent: ItemID) {
        kind = item.kind
        remote = TreePlace(parent: parent, name: item.filename)
        remoteVersion = item.version
        remoteFacts = RemoteFacts(item)
    }
}
