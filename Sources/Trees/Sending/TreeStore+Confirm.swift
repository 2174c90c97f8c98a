package import FileProvider

/// The effect of a confirmed step on the trees: base and remote get the provider's answer.
extension TreeStore {
    /// A document, folder or link now exists at the provider.
    ///
    /// - Parameters:
    ///   - contentRevision: the local revision that was sent; a later one stays pending.
    ///   - sent: the requested place. If the store chose another name, this machine takes that name.
    ///   - asked: the catalog's last item when the store was asked (``TreeReading/lastItem()``).
    /// - Returns: false when the answer cannot be about this item: the identifier belongs to another item, or the
    ///   folder is unknown.
    @discardableResult
    package func confirmCreation(
        _ id: ItemID, as created: Item, contentRevision: Int64, metadataRevision: Int64, sent: TreePlace? = nil,
        asked: ItemID? = nil, defaults: PlaceholderDefaults? = nil
    ) throws -> Bool {
        guard var row = try item(id) else { return true }
        guard let parent = try item(identifiedBy: created.parentIdentifier) else { return false }
        if let asked, let defaults { try removeDuplicate(created, of: id, shownSince: asked, defaults) }
        guard try makeWay(for: created.identifier, of: id) else { return false }
        let before = row.remoteFacts.capabilities
        row.identifier = created.identifier
        try confirm(&row, created, in: parent.id, contentRevision, metadataRevision)
        row.base = row.remote
        if let sent, row.local == sent { row.base = sent }
        try update(row)
        try capabilitiesChanged(of: row, from: before)
        if let defaults {
            if row.isMovedRemotelyOnly { try reconcile([row.id], defaults: defaults) }
            try showWaiting(defaults)
        }
        return true
    }

    /// A listing may have reported the item before the reply to its creation. False: the identifier belongs to another
    /// item.
    private func makeWay(for identifier: ItemIdentifier, of id: ItemID) throws -> Bool {
        guard let seen = try item(identifiedBy: identifier), seen.id != id else { return true }
        guard seen.inode == nil else { return false }
        try deleteItem(seen.id)
        return true
    }

    /// If a store creates an item under another name than requested and lists it before the reply, the item is shown
    /// here twice. Removes the one from the listing if nobody has used it.
    private func removeDuplicate(
        _ created: Item, of id: ItemID, shownSince asked: ItemID, _ defaults: PlaceholderDefaults
    ) throws {
        guard var seen = try item(identifiedBy: created.identifier), seen.id != id, seen.id.rawValue > asked.rawValue,
            !seen.isModified,
            seen.local == seen.remote, seen.remoteVersion?.content == created.version.content,
            let shown = seen.inode, let inode = try inodeIfPresent(shown), inode.writing == nil,
            try inode.linkCount == (inode.isFolder ? 2 : 1) && !hasChildren(shown)
        else { return }
        seen.remote = nil
        seen.remoteVersion = nil
        try update(seen)
        try reconcile([seen.id], defaults: defaults)
    }

    private func requireOwn(_ identifier: ItemIdentifier, of item: ItemRecord) throws {
        if try makeWay(for: identifier, of: item.id) { return }
        let name = (item.local ?? item.remote)?.name.string ?? item.id.description
        throw CatalogError(
            .exists, "\(name): the provider's answer cannot be right: its identifier is that of another item")
    }

    /// The provider has the changed contents (or metadata).
    package func confirmContents(_ id: ItemID, as changed: Item, contentRevision: Int64, metadataRevision: Int64)
        throws
    {
        guard var row = try item(id), row.identifier != nil, let place = row.remote ?? row.base else { return }
        try requireOwn(changed.identifier, of: row)
        let before = row.remoteFacts.capabilities
        row.identifier = changed.identifier
        try confirm(&row, changed, in: place.parent, contentRevision, metadataRevision)
        // Ignore the place in this answer: a move by others shows in the next listing.
        row.remote = place
        try update(row)
        try capabilitiesChanged(of: row, from: before)
    }

    private func confirm(
        _ row: inout ItemRecord, _ item: Item, in parent: ItemID, _ contentRevision: Int64,
        _ metadataRevision: Int64
    ) throws {
        transaction.concernsStore = true
        row.setRemote(item, in: parent)
        row.baseVersion = item.version
        // The store has the item: whatever its name and place are now, it is not excluded.
        row.isExcluded = false
        try judge(&row, settle: 0)
        if row.contentRevision == contentRevision { row.contentRevision = 0 }
        if row.metadataRevision != 0, row.metadataRevision == metadataRevision {
            row.metadataRevision = 0
            try endFavoriteWish(of: row.inode)
        }
        row.failure = nil
        row.sent = []
        row.attempted = nil
    }

    /// The item has arrived at its destination `sent`; it may have been moved again here meanwhile. If the store chose
    /// another name, this machine takes that name.
    package func confirmMove(_ id: ItemID, as moved: Item, sent: TreePlace, defaults: PlaceholderDefaults) throws {
        transaction.concernsStore = true
        // An item reported deleted from the store is sent again, and is found there under the same name.
        guard var row = try item(id), row.identifier != nil else { return }
        try requireOwn(moved.identifier, of: row)
        if let left = row.base { freedPlaces.append(left) }
        let reidentified = row.identifier != moved.identifier
        let before = row.remoteFacts.capabilities
        row.identifier = moved.identifier
        row.setRemote(moved, in: sent.parent)
        row.base = row.local == sent ? sent : row.remote
        row.baseVersion?.metadata = moved.version.metadata
        row.failure = nil
        try update(row)
        try capabilitiesChanged(of: row, from: before)
        // The reply may also report new contents or another place.
        if row.isMovedRemotelyOnly || row.baseVersion?.content != row.remoteVersion?.content {
            try reconcile([row.id], defaults: defaults)
        }
        // Where identifiers are paths, all items below have new ones now; the next listing reports them.
        if reidentified, row.kind.isFolder, let inode = row.inode, var folder = try inodeIfPresent(inode) {
            folder.isEnumerated = false
            reopened.add(inode)
            try update(folder)
        }
        try showWaiting(defaults)
    }

    /// The provider has other metadata than were sent, and the item was not changed here: takes the provider's.
    package func takeMetadata(_ id: ItemID, defaults: PlaceholderDefaults) throws {
        guard var row = try item(id), row.metadataRevision == 0, row.contentRevision == 0, row.remoteVersion != nil
        else { return }
        row.baseVersion?.metadata = MetadataVersion("")
        try update(row)
        try reconcile([id], defaults: defaults)
    }

    /// The provider keeps no such metadata: the change stays on this machine.
    package func keepMetadataLocal(_ id: ItemID, metadataRevision: Int64) throws {
        guard var row = try item(id), row.metadataRevision == metadataRevision else { return }
        row.metadataRevision = 0
        try update(row)
        try endFavoriteWish(of: row.inode)
    }

    /// The provider does not have the item any more.
    package func confirmDeletion(_ id: ItemID, defaults: PlaceholderDefaults) throws {
        transaction.concernsStore = true
        guard let row = try item(id) else { return }
        if row.local == nil {
            try deleteItem(id)
            if let left = row.remote ?? row.base { freedPlaces.append(left) }
            try showWaiting(defaults)
        } else {
            var row = row
            row.becomesUnconfirmed(at: now)
            try update(row)
        }
    }

    /// The deletion is not carried out: the provider has a newer version, which is shown again.
    package func takeBackDeletion(_ id: ItemID, current: Item?, defaults: PlaceholderDefaults) throws {
        guard var row = try item(id), row.local == nil else { return }
        row.base = nil
        row.failure = nil
        if let current, let parent = try item(identifiedBy: current.parentIdentifier) {
            row.setRemote(current, in: parent.id)
        }
        try update(row)
        try reconcile([id], defaults: defaults)
        // Items that waited for the folder.
        if row.kind.isFolder { try reconcile(try remoteChildren(of: id).map(\.id), defaults: defaults) }
    }

    /// The provider did not accept the change; it is tried again at `retryAt`.
    package func recordFailure(_ id: ItemID, code: String, message: String, retryAt: FileTime) throws {
        guard var row = try item(id) else { return }
        row.failure = ItemFailure(
            code: code, message: message, attempts: (row.failure?.attempts ?? 0) + 1, retryAt: retryAt)
        try update(row)
    }

    /// Records why the change is not sent now; no attempt was made.
    package func recordHeld(_ id: ItemID, message: String, retryAt: FileTime) throws {
        guard var row = try item(id) else { return }
        row.failure = ItemFailure(
            code: "held", message: message, attempts: row.failure?.attempts ?? 0, retryAt: retryAt)
        try update(row)
    }

    /// Records the contents about to be sent, so that they are recognised if the reply is lost.
    package func recordSending(_ id: ItemID, _ sent: SentContent) throws {
        guard var row = try item(id) else { return }
        row.sent = (row.sent.filter { $0 != sent } + [sent]).suffix(SentContent.mostKept)
        if row.identifier == nil { row.attempted = row.local }
        try update(row)
    }

    /// The item, or its destination folder, is not at the provider any more: the item is sent again as new.
    package func becomesUnconfirmed(_ id: ItemID) throws {
        guard var row = try item(id), row.id != .root else { return }
        row.becomesUnconfirmed(at: now)
        try update(row)
    }
}
