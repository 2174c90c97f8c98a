import FileProvider
import ItemCatalog
import Logging
import Trees

/// Contents that a power loss may have damaged.
extension StepRunner {
    /// Keeps a change beside the store's version if a part of the document was not durable at a power loss. The
    /// document is complete by now.
    ///
    /// - Returns: false when there is no doubt, or nothing in the store to overwrite.
    func keepDamagedApart(_ item: ItemRecord) throws -> Bool {
        guard let inode = item.inode, try mount.catalog.read({ try $0.mayBeDamaged(inode) }) else { return false }
        let path = mount.path(of: item)
        let copy = try mount.catalog.write { try $0.partUnsynced(item.id, defaults: mount.defaults) }
        guard let copy else { return false }
        mount.relabel(inode)
        mount.logger.warning(
            "a document's changes were not synced when the machine went off, and may be damaged: both versions are kept",
            metadata: ["item": "\(path)", "keptAs": "\(copy)"])
        return true
    }
}
