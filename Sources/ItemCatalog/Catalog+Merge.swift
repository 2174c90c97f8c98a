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
extension Catalog.Writer {
    /// Takes the complete listing of a folder.
    ///
    /// - Parameter ignoring: items that were changed from here while the listing was made: what it says
    ///   of them, or that they are not in it, is not taken.
    package func mergeListing(
        of folder: InodeID, _ items: [Item], ignoring: Set<ItemIdentifier> = [], defaults: PlaceholderDefaults
    ) throws -> MergeResult {
        var result = MergeResult()
        guard var inode = try inodeIfPresent(folder), inode.isFolder, let parent = try item(of: folder),
            !parent.isExcluded, let parentIdentifier = parent.identifier
        else { return result }
        let difference = try difference(of: parent.id, items, ignoring: ignoring)
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
        for var item in difference.changed {
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
            } else {
                changed.append(try insertRemote(item, in: parent.id).id)
            }
        }
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

    /// Takes what the provider says of one item that is known here.
    package func mergeItem(_ item: Item, defaults: PlaceholderDefaults) throws {
        guard item.problem == nil, let row = try sameKind(item, defaults), row.id != .root,
            let parent = try self.item(identifiedBy: item.parentIdentifier)
        else { return }
        guard try !isRemotelyInside(parent.id, row.id) else { return }
        try updateRemote(row, to: item, in: parent.id)
        try reconcile([row.id], defaults: defaults)
    }

    /// The provider answered that it has no such item.
    package func mergeDeletion(of identifier: ItemIdentifier, defaults: PlaceholderDefaults) throws {
        guard let row = try item(identifiedBy: identifier), row.id != .root else { return }
        // What is in a folder is gone with it.
        var gone = [row]
        var index = 0
        while index < gone.count {
            gone += try remoteChildren(of: gone[index].id)
            index += 1
        }
        for var row in gone {
            row.remote = nil
            row.remoteVersion = nil
            try update(row)
        }
        try reconcile(gone.reversed().map(\.id), defaults: defaults)
    }

    /// The row that an item goes by. One that became another kind of thing is no longer the same.
    private func sameKind(_ item: Item, _ defaults: PlaceholderDefaults) throws -> ItemRecord? {
        guard let row = try self.item(identifiedBy: item.identifier) else { return nil }
        if InodeKind(row.kind) == InodeKind(item.kind) { return row }
        try mergeDeletion(of: item.identifier, defaults: defaults)
        return nil
    }

    private func isSameDocument(_ row: ItemRecord, _ item: Item) -> Bool {
        row.kind == item.kind && row.identifier != nil && row.remoteVersion?.content == item.version.content
    }

    private func updateRemote(_ row: ItemRecord, to item: Item, in parent: ItemID) throws {
        var updated = row
        updated.setRemote(item, in: parent)
        try update(updated)
    }

    private func insertRemote(_ item: Item, in parent: ItemID) throws -> ItemRecord {
        var row = ItemRecord(
            id: .root, inode: nil, identifier: item.identifier, kind: item.kind, base: nil, baseVersion: nil,
            local: nil, contentRevision: 0, metadataRevision: 0, remote: nil, remoteVersion: nil,
            remoteFacts: RemoteFacts(item), readyAt: now, failure: nil, sent: nil, isPinned: false,
            isExcluded: false)
        row.setRemote(item, in: parent)
        return try insert(row)
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
