import FileProvider
import ItemCatalog
import Logging
import Trees

/// What the machine's going off may have damaged.
extension StepRunner {
    /// A change of a part of a document that was not durable then: whole by now, it is kept beside what the store has.
    ///
    /// - Returns: false when there is no doubt, or nothing in the store that could be written over.
    func keepDamagedApart(_ item: ItemRecord) throws -> Bool {
        guard let inode = item.inode, try context.catalog.read({ try $0.mayBeDamaged(inode) }) else { return false }
        let path = context.path(of: item)
        let copy = try context.catalog.write { try $0.partUnsynced(item.id, defaults: context.defaults) }
        guard let copy else { return false }
        context.relabel(inode)
        context.logger.warning(
            "what was written was not synced when the machine went off, and may be damaged: it is kept beside the store's",
            metadata: ["item": "\(path)", "keptAs": "\(copy)"])
        return true
    }
}
