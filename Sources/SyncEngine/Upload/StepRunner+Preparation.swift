import ContentStore
import FileProvider
import Foundation
import ItemCatalog
import Logging
import Trees

/// Preparation of an upload: a snapshot of complete contents that no program is writing.
extension StepRunner {
    /// The contents and metadata of an upload, and the local state that they represent.
    struct Prepared {
        var source: SnapshotSource
        var metadata: ItemMetadata
        var contentRevision: Int64
        var metadataRevision: Int64

        /// Others have put the same contents into the store, but with another mode or other attributes: the local ones
        /// stay pending if they were changed here, otherwise the store's replace them.
        private(set) var hasOtherMetadata = false

        func found(as item: Item) -> Prepared {
            let hasMode = item.trustedPermissions.map { $0 == metadata.posixPermissions } ?? true
            let hasAttributes =
                item.extendedAttributes == nil || metadata.extendedAttributes == nil
                || item.extendedAttributes == metadata.extendedAttributes
            if hasMode && hasAttributes { return self }
            var found = self
            (found.metadataRevision, found.hasOtherMetadata) = (-1, true)
            return found
        }
    }

    /// Nil when a writer is at work.
    func prepare(_ item: ItemRecord) async throws -> Prepared? {
        guard let inodeID = item.inode, mount.volume?.isBeingWritten(inodeID) != true else { return nil }
        let (opened, content) = try mount.openCurrent(inodeID)
        let (row, inode) = try mount.catalog.read { (try $0.item(item.id), try $0.inode(inodeID)) }
        guard let row, row.inode == inodeID, row.local == item.local, inode.generation == opened.generation else {
            return nil
        }
        if let journal = try journal(of: row, content) {
            try mount.catalog.write {
                try $0.recordHeld(
                    item.id,
                    message:
                        "\(journal) holds a part of this database; the database is sent when its programs have closed it",
                    retryAt: mount.clock.date.adding(seconds: mount.times.firstRetry))
            }
            return nil
        }
        if !content.isComplete {
            guard let identifier = row.identifier, let version = row.baseVersion else {
                if try wasOnlyOpened(row, inode, content) { return nil }
                try freeName(row)
                throw FileProviderError(
                    .noSuchItem,
                    "\(mount.path(of: row)): the store replaced the version that was changed here, and parts of that version were "
                        + "never downloaded; the local bytes are kept: unmount, then run hydrant rescue to copy them")
            }
            // A program changed a part of a placeholder: download the rest first.
            let target = DownloadTarget(
                inode: inodeID, identifier: identifier, version: version.content, name: mount.path(of: row))
            try await downloader.provide(0..<content.baseSize, of: content, for: target)
        }
        // With passthrough, the kernel writes to the local file past us, as far as the disk allows.
        if try content.status().size > Item.largestSize {
            throw FileProviderError(
                .unsupported,
                "\(mount.path(of: row)): has more than \(Item.largestSize) bytes (8 PiB); make it smaller")
        }
        let metadata = try metadata(of: inode, row)
        let (snapshot, room) = try await snapshot(of: content)
        // A wish for the store's mark is sent afterwards, by itself.
        let hasWish = try mount.catalog.read { try $0.favoriteWish(of: inodeID) } != nil
        let prepared = { (digest: SnapshotDigest) in
            Prepared(
                source: SnapshotSource(snapshot: snapshot, digest: digest, uploads: uploads), metadata: metadata,
                contentRevision: row.contentRevision, metadataRevision: hasWish ? -1 : row.metadataRevision)
        }
        guard snapshot.isGrowing else { return try record(snapshot, content, row).map { prepared(.known($0)) } }
        var isUnderWay = false
        defer { if !isUnderWay { mount.room.end(room) } }
        // (Like `recordSending`, before the store can have it.)
        if row.identifier == nil, let place = row.local,
            try !mount.catalog.write({ try $0.recordAttempt(row.id, at: place) })
        {
            return nil
        }
        isUnderWay = true
        return prepared(
            .underWay(
                Task(executorPreference: mount.workers) {
                    defer { mount.room.end(room) }
                    try snapshot.complete()
                    if let digest = try record(snapshot, content, row) { return digest }
                    snapshot.markChanged()
                    throw ContentError(code: .changed, message: "\(content.id): changed during the upload")
                }))
    }

    /// What must be on the disk before the store can have all of a document.
    ///
    /// - Returns: nil when the document has changed since, or a writer is at work.
    private func record(_ snapshot: Snapshot, _ content: ContentFile, _ row: ItemRecord) throws -> SentContent? {
        guard let inode = row.inode else { return nil }
        // With a note of that the bytes are not in doubt after a power loss.
        let durable = (try? mount.store.synchronize(content.id)).flatMap {
            SyncedContents(content.id, $0, present: nil)
        }
        let digest = try SentContent(snapshot)
        let unchanged = try mount.catalog.write { writer in
            guard let now = try writer.item(row.id), now.contentRevision == row.contentRevision,
                now.identifier != nil || now.local == row.local
            else { return false }
            try writer.recordSending(row.id, digest)
            if let durable { try writer.noteSynced(inode, durable) }
            return true
        }
        guard unchanged, mount.volume?.isBeingWritten(inode) != true else { return nil }
        // The upload replaces the version that a part of the contents came from. So it must be durable first that all
        // parts are here: after a power loss nobody could download them again.
        if row.identifier != nil { try uploads.makeDurable(mount.clock.date) }
        return digest
    }

    /// An item that cannot be sent gives up its name to the store's item of that name.
    private func freeName(_ row: ItemRecord) throws {
        guard let place = row.local,
            try mount.catalog.read({ try $0.remoteOccupant(of: place, otherThan: row.id) }) != nil
        else { return }
        try mount.catalog.write { try $0.giveWay(row.id, to: nil, defaults: mount.defaults) }
        mount.relabel(row.inode)
        guard let inode = row.inode else { return }
        let what = "the store has another item of this name; this one was renamed"
        reports.conflict(inode, at: mount.path(of: inode), what)
    }

    /// A program had a placeholder open for writing when the store deleted it, and wrote nothing. So there is nothing
    /// to send, and the local name is deleted too: it may be another document's in the store.
    private func wasOnlyOpened(_ row: ItemRecord, _ inode: InodeRecord, _ content: ContentFile) throws -> Bool {
        guard row.identifier == nil, content.bytesPresent == 0, inode.size == inode.baseSize, inode.size > 0,
            inode.writing == nil, mount.volume?.isOpen(inode.id) != true
        else { return false }
        mount.logger.info(
            "a document that the store deleted was open but never written: it is deleted here too",
            metadata: ["item": "\(mount.path(of: row))"])
        try mount.catalog.write { writer in
            guard try writer.item(row.id)?.contentRevision == row.contentRevision else { return }
            try writer.removeEveryName(of: inode.id)
        }
        return true
    }

    /// The file with changes that are not yet in the database: without it the uploaded database would be torn.
    private func journal(of row: ItemRecord, _ content: ContentFile) throws -> Filename? {
        guard DatabaseFiles.isDatabase(content), let local = row.local else { return nil }
        for name in DatabaseFiles.pending(for: local.name) {
            let found = try mount.catalog.read { reader in
                try reader.item(local.parent)?.inode.flatMap { try reader.child(of: $0, named: name) }
            }
            guard let found, found.kind == .document else { continue }
            let id = GenerationID(inode: found.id.rawValue, number: found.generation)
            // The catalog does not know the size of a file that is being written.
            guard let status = mount.store.status(id), status.size > 0 else { continue }
            let isJournal = name.bytes.suffix(8).elementsEqual("-journal".utf8)
            if try !isJournal || DatabaseFiles.isHot(journal: mount.openCurrent(found.id).content) { return name }
        }
        return nil
    }

    /// Includes the attributes unless the store's are unknown: then the store keeps its own.
    func metadata(of inode: InodeRecord, _ item: ItemRecord) throws(CatalogError) -> ItemMetadata {
        let isKnown = item.identifier == nil || item.remoteFacts.extendedAttributes != nil
        return ItemMetadata(
            contentModificationDate: inode.modified, posixPermissions: UInt16(inode.mode & 0o1777),
            extendedAttributes: isKnown ? try mount.catalog.read { try $0.userAttributes(of: inode.id) } : nil,
            setID: inode.setID)
    }
}

extension InodeRecord {
    fileprivate var setID: SetID? {
        let bits = UInt16(mode & 0o6000)
        return bits == 0 || kind == .link ? nil : SetID(bits: bits, owner: uid, group: gid)
    }
}
