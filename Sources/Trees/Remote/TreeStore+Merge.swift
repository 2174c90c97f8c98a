package import FileProvider

/// Owner and mode of placeholders, where the store keeps none.
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

    /// The mode of a link has no meaning, and is the usual one (symlink(7)).
    func mode(of kind: ItemKind) -> UInt32 {
        switch kind {
        case .document: documentMode
        case .folder: folderMode
        case .symbolicLink: 0o777
        }
    }
}

/// The open questions after merging a listing.
package struct MergeResult: Sendable {
    /// Items that were in the folder and are missing from its listing. Missing does not mean deleted: ask for each of
    /// them.
    package var missing: [ItemIdentifier] = []
    /// Entries that cannot be shown, and why.
    package var refused: [(name: Filename, reason: String)] = []
}

/// Records the provider's reports, in the remote tree only; ``reconcile(_:)`` then applies to the local tree the
/// changes that no local change stands against.
extension TreeStore {
    /// Merges the complete listing of a folder.
    ///
    /// - Parameters:
    ///   - others: rows that are in the listing besides `items`, and that the catalog already has.
    ///   - ignoring: items that were changed from here while the listing was made: what the listing says about them, or
    ///     that they are missing, is ignored.
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
        // A store may give a document a new identifier (a path, after its folder was renamed): the same name, kind and
        // contents mean the same document.
        var missingByName: [Filename: ItemRecord] = [:]
        for identifier in missing {
            guard let row = try self.item(identifiedBy: identifier), let place = row.remote else { continue }
            missingByName[place.name] = row
        }
        var changed: [ItemID] = []
        let isUntouched = try !inode.isEnumerated && isUntouched(folder, parent)
        var newFolders: Int64 = 0
        // Sorted by name, so that new items go to the end of every index and not into pages all over the catalog.
        let newcomers = isUntouched ? difference.changed.sorted { $0.filename < $1.filename } : difference.changed
        var fresh = Newcomers(parent: parent.id, folder: folder, defaults: defaults)
        for var item in newcomers {
            item.parentIdentifier = parentIdentifier
            if fresh.isLike(item) { try insertShown(&fresh) }
            let known = try self.item(identifiedBy: item.identifier)
            if known != nil { try insertShown(&fresh) }
            if let row = try sameKind(item, known, defaults) {
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
                fresh.add(item)
                if fresh.isFull { try insertShown(&fresh) }
                if item.kind.isFolder { newFolders += 1 }
            } else {
                changed.append(try insertRemote(item, in: parent.id).id)
            }
        }
        try insertShown(&fresh)
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

    /// Nobody has listed the folder yet and it is empty here: the store's items cannot conflict with anything.
    private func isUntouched(_ folder: InodeID, _ item: ItemRecord) throws -> Bool {
        try !reopened.contains(folder) && !hasChildren(folder) && !lostCreations(in: item.id)
    }

    /// Like ``insertRemote(_:in:)`` followed by ``attachNew(_:_:)`` for each of these items, for an untouched folder.
    /// The kernel knows no names of this folder yet.
    ///
    /// - Returns: their rows; `fresh` is empty then.
    @discardableResult
    func insertShown(_ fresh: inout Newcomers) throws -> [ItemID] {
        if fresh.items.isEmpty { return [] }
        defer { fresh.removeAll() }
        var rows = fresh.items.map { newRecord($0, in: fresh.parent) }
        let inodes = try insert(rows.map { InodeRecord(placeholderOf: $0, fresh.defaults) })
        try link(zip(inodes, fresh.items).map { ($0.id, $1.filename) }, in: fresh.folder)
        for (index, inode) in inodes.enumerated() {
            if let attributes = rows[index].remoteFacts.extendedAttributes, !attributes.isEmpty {
                _ = try replaceUserAttributes(of: inode.id, by: attributes)
            }
            rows[index].inode = inode.id
            rows[index].local = rows[index].remote
            rows[index].base = rows[index].remote
            rows[index].baseVersion = rows[index].remoteVersion
        }
        return try insert(rows).map(\.id)
    }

    /// Merges the provider's report about one item that is known here.
    package func mergeItem(_ item: Item, defaults: PlaceholderDefaults) throws {
        if item.identifier == .rootContainer { return try mergeRoot(item) }
        guard item.problem == nil, let row = try sameKind(item, defaults), row.id != .root,
            let parent = try self.item(identifiedBy: item.parentIdentifier)
        else { return }
        guard try !isRemotelyInside(parent.id, row.id) else { return }
        try updateRemote(row, to: item, in: parent.id)
        try reconcile([row.id], defaults: defaults)
    }

    /// The provider answered that it does not have the item.
    package func mergeDeletion(of identifier: ItemIdentifier, defaults: PlaceholderDefaults) throws {
        try mergeDeletions(of: [identifier], defaults: defaults)
    }

    /// The provider answered that it has none of these items. Merge items that were reported together in one call:
    /// their number decides whether they are held (``DeletionHold``).
    ///
    /// - Parameter mayHold: false: the items are not deleted, only no longer to be shown as before.
    package func mergeDeletions(
        of identifiers: [ItemIdentifier], mayHold: Bool = true, defaults: PlaceholderDefaults
    ) throws {
        var gone: [ItemRecord] = []
        var seen: Set<ItemID> = [.root]
        for identifier in identifiers {
            guard let row = try item(identifiedBy: identifier), seen.insert(row.id).inserted else { continue }
            // An item that is held already is not deleted once more.
            if row.heldSince == nil || !mayHold { gone.append(row) }
        }
        // Items in a deleted folder are deleted with it.
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
        // Another item may have the place of a held one.
        for row in gone where holding.contains(row.id) {
            if let place = row.local { freedPlaces.append(place) }
        }
        try showWaiting(defaults)
    }

    /// Folders first, in whatever order they were reported, so that reconciling in reverse sees items before their
    /// folder.
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

    /// Keeps the complete documents in a folder that was moved here, like a document that was moved by itself: a person
    /// cares about them.
    ///
    /// - Parameter gone: folders before their content.
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

    /// The row of an item. An item that has changed its kind is not the same item any more.
    func sameKind(_ item: Item, _ defaults: PlaceholderDefaults) throws -> ItemRecord? {
        try sameKind(item, self.item(identifiedBy: item.identifier), defaults)
    }

    /// - Parameter row: the row that has the item's identifier.
    func sameKind(_ item: Item, _ row: ItemRecord?, _ defaults: PlaceholderDefaults) throws -> ItemRecord? {
        guard let row else { return nil }
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

/// New items of a folder's first listing, gathered because many rows are added faster than one by one.
struct Newcomers {
    let parent: ItemID
    let folder: InodeID
    let defaults: PlaceholderDefaults
    private(set) var items: [Item] = []
    private var names: Set<Filename> = []
    private var identifiers: Set<ItemIdentifier> = []

    init(parent: ItemID, folder: InodeID, defaults: PlaceholderDefaults) {
        (self.parent, self.folder, self.defaults) = (parent, folder, defaults)
    }

    var isFull: Bool { items.count >= 32 }

    /// One of them has the item's name or identifier.
    func isLike(_ item: Item) -> Bool { names.contains(item.filename) || identifiers.contains(item.identifier) }

    mutating func add(_ item: Item) {
        items.append(item)
        names.insert(item.filename)
        identifiers.insert(item.identifier)
    }

    mutating func removeAll() {
        items.removeAll(keepingCapacity: true)
        names.removeAll(keepingCapacity: true)
        identifiers.removeAll(keepingCapacity: true)
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
