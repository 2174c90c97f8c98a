import FileProvider

/// Identity through saves (Architecture, *Identity*): POSIX gives a name another inode, but the store must see a change of the same
/// document. So the item's binding moves from inode to inode.
extension TreeStore {
    /// The document that gave up this name so recently that its change has not been sent: it was unlinked, or renamed
    /// to a backup. A file that takes the name now is its next version.
    func vacatedDocument(_ place: TreePlace) throws -> ItemRecord? {
        try items(basedAt: place, readyAfter: now).first { item in
            guard item.kind.isDocument, item.identifier != nil, item.remote == item.base, item.local != item.base,
                item.capabilities.contains(.writing)
            else { return false }
            guard let local = item.local else { return true }
            return try exclusions.isBackup(local.name, of: place.name) && canPart(item.inode)
        }
    }

    /// All bytes are on this machine: the inode does not need the store.
    func isWhole(_ inode: InodeID?) throws -> Bool {
        guard let inode, let record = try inodeIfPresent(inode) else { return false }
        return record.extents == nil
    }

    /// Whether an inode can be separated from its document. Missing bytes are downloaded first, if the caller can.
    func canPart(_ inode: InodeID?) throws -> Bool {
        if try isWhole(inode) { return true }
        if let inode, transaction.canDownload?(inode) == true {
            throw CatalogError(.incomplete(inode), "\(inode): not all of its bytes are here")
        }
        return false
    }

    /// Postpones sending an item's change by this many seconds.
    package func postpone(_ id: InodeID, seconds: Double) throws {
        guard var item = try item(of: id) else { return }
        item.becomesReady(at: now.adding(seconds: seconds))
        try update(item)
    }

    /// A document takes over the bytes of another inode, all of which are here, at `place`. If its old inode still has
    /// names, that inode goes on as a file that the store never had.
    ///
    /// - Parameter before: the item that the bytes belonged to, if any.
    func rebind(
        _ document: ItemRecord, to inode: InodeRecord, of before: ItemRecord?, at place: TreePlace, settle: Double
    ) throws {
        let old = document.inode
        let oldItem = document
        var document = document
        document.inode = nil
        try update(document)
        if let old { try moveConflicts(from: old, to: inode.id) }
        if let old, let left = try self.place(of: old) {
            try insertUnconfirmed(old, of: oldItem, at: left, settle: settle)
        }
        document.inode = inode.id
        document.local = place
        document.contentRevision = nextRevision(after: document.contentRevision)
        document.becomesReady(at: readyTime(of: inode, before, settle))
        try update(document)
    }

    /// Creates an item for an inode that lost its own.
    private func insertUnconfirmed(
        _ id: InodeID, of before: ItemRecord, at place: (folder: InodeID, name: Filename), settle: Double
    ) throws {
        guard let parent = try item(of: place.folder), let inode = try inodeIfPresent(id) else { return }
        _ = try insert(
            ItemRecord.unconfirmed(
                inode: id, kind: .document, at: TreePlace(parent: parent.id, name: place.name),
                readyAt: readyTime(of: inode, before, settle), isExcluded: isExcluded(place.name, in: parent)))
    }

    /// A document has taken the inode of a temporary file: turns the temporary file's item into a tombstone. The item
    /// is not deleted at once, because its upload may be in progress and must then be undone.
    func discardTemporary(_ item: ItemRecord) throws {
        if item.isExcluded && item.sent.isEmpty { return try deleteItem(item.id) }
        var item = item
        item.isExcluded = false
        item.inode = nil
        item.local = nil
        item.contentRevision = 0
        item.metadataRevision = 0
        item.readyAt = now
        try update(item)
    }

    /// Takes the item out of the local tree: leaves a tombstone that the planner turns into a deletion, or forgets if
    /// the provider never had the item. The inode is separate from then on.
    func makeTombstone(of inode: InodeID, settle: Double) throws {
        guard var item = try item(of: inode) else { return }
        if try passOn(item, settle: settle) { return }
        item.inode = nil
        item.local = nil
        item.contentRevision = 0
        item.metadataRevision = 0
        item.becomesReady(at: now.adding(seconds: settle))
        // An item that got an excluded name while it was being sent may be in the store.
        if item.isExcluded && item.sent.isEmpty { return try deleteItem(item.id) }
        item.isExcluded = false
        try update(item)
    }

    /// A document that gave up its name is removed, and a new file has the name by now: that file is its next version.
    private func passOn(_ item: ItemRecord, settle: Double) throws -> Bool {
        guard item.kind.isDocument, item.identifier != nil, item.readyAt > now, item.remote == item.base,
            item.capabilities.contains(.writing), item.local != item.base, let place = item.base,
            let folder = try self.item(place.parent)?.inode,
            let heir = try child(of: folder, named: place.name), let temporary = try self.item(of: heir.id),
            temporary.identifier == nil, temporary.kind.isDocument, temporary.local == place, heir.extents == nil
        else { return false }
        try discardTemporary(temporary)
        var document = item
        document.inode = nil
        try rebind(document, to: heir, of: temporary, at: place, settle: settle)
        return true
    }

    /// When a change of the inode may be sent; ``FileTime/farFuture`` while a program is known to have unfinished
    /// changes.
    func readyTime(of inode: InodeRecord, _ item: ItemRecord?, _ settle: Double) -> FileTime {
        let isWaiting = inode.writing != nil && item?.readyAt == .farFuture
        return isWaiting || inode.writing == .modified ? .farFuture : now.adding(seconds: settle)
    }
}
