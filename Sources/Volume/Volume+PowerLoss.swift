import ContentStore
import FileProvider
import ItemCatalog
import Logging
import SyncEngine
import Trees

/// The machine went off under a daemon: what was written and never synced may be there, half there, or zeros.
extension Volume {
    /// Trusts only what is known to be durable. A change that is not is kept beside the store's version, and never sent
    /// over it; a download that may not be comes again.
    ///
    /// - Parameter synced: changed documents whose bytes are durable, as their files were then.
    func distrust(besides synced: [InodeID: SyncedContents]) throws {
        context.logger.warning("the machine went off while the domain was in use: what was not synced is looked at")
        for item in try catalog.read({ try $0.allPending(limit: .max) }) where item.kind.isDocument {
            guard let inode = item.inode, try catalog.read({ try $0.hasUnsentContents(inode) }) else { continue }
            try distrust(item, try catalog.read { try $0.inode(inode) }, synced)
        }
        for candidate in try catalog.read({ try $0.documentsHere(above: 0) }) { try distrustDownload(candidate.inode) }
    }

    private func distrust(_ item: ItemRecord, _ inode: InodeRecord, _ synced: [InodeID: SyncedContents]) throws {
        let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        let file = context.store.status(id)
        if let durable = synced[inode.id], durable == SyncedContents(id, file),
            try catalog.read({ try $0.undurable(inode.id) == nil })
        {
            // A writer's mark that was found may have taken the note away.
            return try catalog.write { try $0.noteSynced(inode.id, durable) }
        }
        let path = context.path(of: inode.id)
        if file == nil && inode.size > 0 {
            context.logger.error(
                "nothing is left of what was written: it was never synced, and the machine went off",
                metadata: ["document": "\(path)"])
            return try catalog.write { try $0.giveUpLost(item.id, defaults: context.defaults) }
        }
        if inode.extents != nil { return try catalog.write { try $0.doubt(inode.id) } }
        guard let copy = try catalog.write({ try $0.partUnsynced(item.id, defaults: context.defaults) }) else { return }
        context.logger.warning(
            "what was written was not synced when the machine went off, and may be damaged: it is kept beside the store's",
            metadata: ["document": "\(path)", "keptAs": "\(copy)"])
    }

    /// Only a whole document whose file is as the catalog knows it: into it nobody wrote without its being known.
    private func distrustDownload(_ id: InodeID) throws {
        let (found, item) = try catalog.read { (try $0.inodeIfPresent(id), try $0.item(of: id)) }
        // (One with another name here, or another date, has the store's bytes all the same. Whose date is not sent yet comes
        // again even if it is whole: its file has the old one, by which nobody can tell.)
        guard let inode = found, let item, !item.isExcluded, item.contentRevision == 0, item.identifier != nil,
            inode.writing == nil, inode.splitFrom == nil
        else { return }
        let status = context.store.status(GenerationID(inode: id.rawValue, number: inode.generation))
        // (The store has no other one of what it has deleted.)
        let isDurable = try item.heldSince != nil || catalog.read { try $0.undurable(id) == nil }
        if isDurable, inode.extents == nil, let status, status.size == inode.size,
            status.modified == inode.modified.nanoseconds
        {
            return
        }
        try catalog.write { _ = try $0.evict(id) }
    }

    /// At the end of a daemon that nobody killed: makes all that is pending durable, so that nothing of it is doubted
    /// whatever happens to the machine afterwards.
    package func putAway() {
        reclaimNow()
        do {
            engine.makeDownloadsDurable()
            let synced = try catalog.read { try $0.synced() }
            for item in try catalog.read({ try $0.allPending(limit: .max) }) where item.kind.isDocument {
                guard let id = item.inode, try catalog.read({ try $0.hasUnsentContents(id) }),
                    let inode = try catalog.read({ try $0.inodeIfPresent(id) })
                else { continue }
                let file = GenerationID(inode: id.rawValue, number: inode.generation)
                if let known = synced[id], known == SyncedContents(file, context.store.status(file)) { continue }
                if let durable = SyncedContents(file, try context.store.synchronize(file)) {
                    try catalog.write { try $0.noteSynced(id, durable) }
                }
            }
            if try catalog.read({ try $0.inodesBeingWritten() }).isEmpty { try catalog.write { try $0.noteBoot(nil) } }
            try synchronizeCatalogNow()
        } catch {
            context.logger.warning(
                "not all that is pending could be made durable; after a power loss it would be kept as a copy",
                metadata: ["error": "\(error)"])
        }
    }
}
