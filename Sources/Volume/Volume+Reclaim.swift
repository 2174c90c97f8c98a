import ContentStore
import ItemCatalog
import Logging
import SyncEngine
import Trees

/// Removes inodes that have neither a name nor a user any more, and their bytes.
extension Volume {
    /// In bytes. The room of larger files comes back at once.
    private static let large = Int64(1 << 20)

    /// The kernel has forgotten the inode of its own accord, and nobody waits: many are removed in one transaction, a
    /// moment later.
    func reclaimLater(_ inode: InodeID) {
        let size = (try? catalog.peek { try $0.inodeIfPresent(inode)?.size }) ?? nil
        if size ?? 0 > Self.large { return reclaim(inode) }
        deferredRemovals.bury(inode)
        seeToItLater()
    }

    /// Does what nobody waits for in a moment, once for all calls until then.
    func seeToItLater() {
        debouncer.plan { [weak self] in
            self?.endWritingNow()
            self?.reclaimNow()
        }
    }

    /// Removes all that waits to be removed.
    func reclaimNow() {
        let dead = deferredRemovals.takeInodes()
        if !dead.isEmpty { reclaim(dead) }
        for id in deferredRemovals.takeFiles() { mount.store.removeSetAside(id) }
    }

    func reclaim(_ inode: InodeID) { reclaim([inode]) }

    func reclaim(_ inodes: [InodeID]) {
        do {
            let gone = try catalog.write { writer in
                try inodes.compactMap { inode -> (record: InodeRecord, wasSynced: Bool)? in
                    guard let record = try writer.inodeIfPresent(inode), record.linkCount == 0, !isMapped(record) else {
                        return nil
                    }
                    let wasSynced = try writer.synced(inode) != nil
                    try writer.deleteInode(inode)
                    if wasSynced { try writer.forgetSynced(inode) }
                    return (record, wasSynced)
                }
            }
            var isTime = false
            for (record, wasSynced) in gone where record.kind == .document {
                let id = GenerationID(inode: record.id.rawValue, number: record.generation)
                if !wasSynced {
                    mount.store.remove(id)
                    continue
                }
                let bytes = mount.store.status(id).map(\.allocated) ?? 0
                mount.store.setAside(id)
                if deferredRemovals.add(id, bytes: bytes) { isTime = true }
            }
            if isTime { try synchronizeCatalogNow() }
        } catch {
            mount.logger.error(
                "cannot reclaim removed documents; this is tried again at the next mount",
                metadata: ["inodes": "\(inodes)", "error": "\(error)"])
        }
    }

    /// Bytes that were split off their document, which get a name when the mapping that is left of their writer changes
    /// them. The watch of that mapping has them reclaimed.
    private func isMapped(_ inode: InodeRecord) -> Bool {
        guard inode.splitFrom != nil, inode.writing != nil else { return false }
        return mount.store.isWritable(GenerationID(inode: inode.id.rawValue, number: inode.generation))
    }
}
