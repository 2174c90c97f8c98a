import ContentStore
import FileProvider
import Glibc
import ItemCatalog
import Logging
import SyncEngine
import Trees

/// The machine went off while a daemon ran: bytes that were written and never synced may be there, half there, or
/// zeros.
extension Volume {
    /// Trusts only what is known to be durable. A change that is not durable is kept beside the store's version, and
    /// never sent over it; a download that may not be durable is evicted, and comes again.
    ///
    /// - Parameter synced: changed documents whose bytes are durable, as their files were then.
    func distrust(besides synced: [InodeID: SyncedContents]) throws {
        mount.logger.warning(
            "the machine went off while the domain was in use: documents that were not synced are examined")
        for item in try catalog.read({ try $0.allPending(limit: .max) }) where item.kind.isDocument {
            guard let inode = item.inode, try catalog.read({ try $0.hasUnsentContents(inode) }) else { continue }
            try distrust(item, try catalog.read { try $0.inode(inode) }, synced)
        }
        for candidate in try catalog.read({ try $0.documentsHere(above: 0) }) { try distrustDownload(candidate.inode) }
    }

    private func distrust(_ item: ItemRecord, _ before: InodeRecord, _ synced: [InodeID: SyncedContents]) throws {
        var inode = before
        let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        let file = mount.store.status(id)
        let known = synced[inode.id].flatMap { $0.generation == inode.generation ? $0 : nil }
        var downloaded = try catalog.read { try $0.undurable(inode.id) }
        if downloaded?.number != inode.generation { downloaded = nil }
        if downloaded != nil, let durable = known?.durable ?? downloaded?.durable {
            inode = try catalog.write { writer in
                try writer.keepDurable(inode.id, durable)
                return try writer.inode(inode.id)
            }
            downloaded = nil
        }
        if let known, known.isState(of: id, file), isTrue(known, of: id), downloaded == nil {
            // Recovering a writer's mark may have removed the note.
            return try catalog.write { try $0.noteSynced(inode.id, known) }
        }
        // (The next boot must not take such a note for a true one.)
        if known != nil { try catalog.write { try $0.forgetSynced(inode.id) } }
        let path = mount.path(of: inode.id)
        if file == nil && inode.size > 0 {
            mount.logger.error(
                "a document's changes are lost: they were not synced when the machine went off",
                metadata: ["document": "\(path)"])
            return try catalog.write { try $0.giveUpLost(item.id, defaults: mount.defaults) }
        }
        if inode.extents != nil { return try catalog.write { try $0.markMaybeDamaged(inode.id) } }
        guard let copy = try catalog.write({ try $0.partUnsynced(item.id, defaults: mount.defaults) }) else { return }
        mount.logger.warning(
            "a document's changes were not synced when the machine went off, and may be damaged: both versions are kept",
            metadata: ["document": "\(path)", "keptAs": "\(copy)"])
    }

    /// Whether what the catalog notes of a sync has happened.
    private func isTrue(_ known: SyncedContents, of id: GenerationID) -> Bool {
        known.mark.map { mount.store.syncMark(of: id) == $0 } ?? true
    }

    /// Keeps a download only if the document is whole and its file is as the catalog knows it: then nobody wrote to it
    /// unnoticed.
    private func distrustDownload(_ id: InodeID) throws {
        let (found, item) = try catalog.read { (try $0.inodeIfPresent(id), try $0.item(of: id)) }
        // (A document with another name or date here has the store's bytes all the same. But one whose date is not sent
        // yet is evicted even if it is whole: its file has the old date, so nobody can tell.)
        guard let inode = found, let item, !item.isExcluded, item.contentRevision == 0, item.identifier != nil,
            inode.writing == nil, inode.splitFrom == nil
        else { return }
        let status = mount.store.status(GenerationID(inode: id.rawValue, number: inode.generation))
        // (The store does not have the bytes any more of what it has deleted.)
        let isDurable = try item.heldSince != nil || catalog.read { try $0.undurable(id) == nil }
        if isDurable, inode.extents == nil, let status, status.size == inode.size,
            status.modified == inode.modified.nanoseconds
        {
            return
        }
        try catalog.write { _ = try $0.evict(id) }
    }

    /// Makes all pending changes durable when a daemon ends in good order, so that none is distrusted whatever happens
    /// to the machine afterwards.
    package func putAway() {
        endWritingNow()
        // (The kernel has let go of all files by then.)
        if !closedWriters.closed.isEmpty {
            usleep(20_000)
            endWritingNow()
        }
        reclaimNow()
        do {
            engine.makeDownloadsDurable()
            let synced = try catalog.read { try $0.synced() }
            for item in try catalog.read({ try $0.allPending(limit: .max) }) where item.kind.isDocument {
                guard let id = item.inode, try catalog.read({ try $0.hasUnsentContents(id) }),
                    let inode = try catalog.read({ try $0.inodeIfPresent(id) })
                else { continue }
                let file = GenerationID(inode: id.rawValue, number: inode.generation)
                // (A note with a mark may be one of a sync that did not end.)
                if let known = synced[id], known.mark == nil, known.isState(of: file, mount.store.status(file)) {
                    continue
                }
                if let durable = SyncedContents(file, try mount.store.synchronize(file), present: inode.extents) {
                    try catalog.write { try $0.noteSynced(id, durable) }
                }
            }
            if try catalog.read({ try $0.inodesBeingWritten() }).isEmpty { try catalog.write { try $0.noteBoot(nil) } }
            try synchronizeCatalogNow()
        } catch {
            mount.logger.warning(
                "cannot sync some pending changes; after a power loss, they would be kept as copies",
                metadata: ["error": "\(error)"])
        }
    }
}
