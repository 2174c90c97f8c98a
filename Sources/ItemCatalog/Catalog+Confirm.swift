package import FileProvider
import GRDB

/// What a step that the provider confirmed does to the trees: base and remote move to what it said.
extension Catalog.Writer {
    /// A document, folder or link now exists at the provider.
    ///
    /// - Parameter contentRevision: the local revision that was sent; a later one stays pending.
    package func confirmCreation(_ id: ItemID, as created: Item, contentRevision: Int64, metadataRevision: Int64)
        throws
    {
        guard var row = try item(id), let parent = try item(identifiedBy: created.parentIdentifier) else { return }
        // A listing may have told of it before the reply did.
        if let seen = try item(identifiedBy: created.identifier), seen.id != id {
            guard seen.inode == nil else { return }
            try deleteItem(seen.id)
        }
        row.identifier = created.identifier
        confirm(&row, created, in: parent.id, contentRevision, metadataRevision)
        row.base = row.remote
        try update(row)
    }

    /// Changed contents (or metadata) are at the provider.
    package func confirmContents(_ id: ItemID, as changed: Item, contentRevision: Int64, metadataRevision: Int64)
        throws
    {
        guard var row = try item(id), row.identifier != nil, let place = row.remote ?? row.base else { return }
        row.identifier = changed.identifier
        confirm(&row, changed, in: place.parent, contentRevision, metadataRevision)
        // Its place is a matter of its own: a move by others shows in the next listing.
        row.remote = place
        try update(row)
    }

    private func confirm(
        _ row: inout ItemRecord, _ item: Item, in parent: ItemID, _ contentRevision: Int64,
        _ metadataRevision: Int64
    ) {
        row.setRemote(item, in: parent)
        row.baseVersion = item.version
        if row.contentRevision == contentRevision { row.contentRevision = 0 }
        if row.metadataRevision == metadataRevision { row.metadataRevision = 0 }
        row.failure = nil
        row.sent = nil
    }

    /// The item is where it was to go (`sent`); it may have been moved on here meanwhile.
    package func confirmMove(_ id: ItemID, as moved: Item, sent: TreePlace, defaults: PlaceholderDefaults) throws {
        guard var row = try item(id) else { return }
        if let left = row.base { freedPlaces.append(left) }
        let reidentified = row.identifier != moved.identifier
        row.identifier = moved.identifier
        row.setRemote(moved, in: sent.parent)
        row.base = row.remote
        row.baseVersion?.metadata = moved.version.metadata
        row.failure = nil
        try update(row)
        // Where identifiers are paths, everything below has another one now; the next listing tells.
        if reidentified, row.kind.isFolder, let inode = row.inode, var folder = try inodeIfPresent(inode) {
            folder.isEnumerated = false
            try update(folder)
        }
        try showWaiting(defaults)
    }

    /// The provider keeps no such metadata: it stays a local matter.
    package func keepMetadataLocal(_ id: ItemID, metadataRevision: Int64) throws {
        guard var row = try item(id), row.metadataRevision == metadataRevision else { return }
        row.metadataRevision = 0
        try update(row)
    }

    /// The provider has it no more.
    package func confirmDeletion(_ id: ItemID, defaults: PlaceholderDefaults) throws {
        guard let row = try item(id) else { return }
        if row.local == nil {
            try deleteItem(id)
            if let left = row.remote ?? row.base {
                freedPlaces.append(left)
                try showWaiting(defaults)
            }
        } else {
            var row = row
            row.becomesUnconfirmed(at: now)
            try update(row)
        }
    }

    /// The deletion is not carried out: the provider has something newer, which is shown again.
    package func takeBackDeletion(_ id: ItemID, current: Item?, defaults: PlaceholderDefaults) throws {
        guard var row = try item(id), row.local == nil else { return }
        row.base = nil
        row.failure = nil
        if let current, let parent = try item(identifiedBy: current.parentIdentifier) {
            row.setRemote(current, in: parent.id)
        }
        try update(row)
        try reconcile([id], defaults: defaults)
    }

    /// The provider did not take the change; it is tried again at `retryAt`.
    package func recordFailure(_ id: ItemID, code: String, message: String, retryAt: FileTime) throws {
        guard var row = try item(id) else { return }
        row.failure = ItemFailure(
            code: code, message: message, attempts: (row.failure?.attempts ?? 0) + 1, retryAt: retryAt)
        try update(row)
    }

    /// What failed for this reason is tried again at once.
    package func retryNow(failedWith code: String) throws {
        try db.cachedStatement(sql: "UPDATE item SET retry_at = 0 WHERE pending = 1 AND error_code = ?")
            .execute(arguments: [code])
    }

    /// What is about to be sent, so that it is known again if the reply gets lost.
    package func recordSending(_ id: ItemID, _ sent: SentContent) throws {
        guard var row = try item(id) else { return }
        row.sent = sent
        try update(row)
    }

    /// An item, or the folder it is to be in, is not at the provider any more: it is sent anew.
    package func becomesUnconfirmed(_ id: ItemID) throws {
        guard var row = try item(id), row.id != .root else { return }
        row.becomesUnconfirmed(at: now)
        try update(row)
    }
}
