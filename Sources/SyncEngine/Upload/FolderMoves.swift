import ItemCatalog
import Trees

/// Keeps a folder's move apart from the steps for items in the folder. A step during the move would look for its item
/// in the old place and take it for gone: a deletion would seem done, a document deleted. So the two never run at once,
/// in whatever way the provider finds its items.
///
/// Use a new instance for each selection of steps.
struct FolderMoves {
    private let catalog: Catalog
    /// Folders that move, or wait to move until the steps in them have ended: no further step begins there, otherwise
    /// the move could never begin.
    private var folders: Set<ItemID> = []
    private var known: [Place: Bool] = [:]

    private struct Place: Hashable {
        var parent: ItemID
        var folder: ItemID
    }

    init(catalog: Catalog) { self.catalog = catalog }

    /// Whether the step may begin beside the running steps.
    ///
    /// - Parameter long: running steps that may take hours: such a step delays its folder's move, but the waiting move
    ///   does not stop other steps there.
    mutating func allow(
        _ planned: Planner.Planned, beside underWay: some Collection<Planner.Planned>, long: Set<ItemID>
    ) -> Bool {
        let item = planned.pending.item
        for other in underWay where other.movesFolder { folders.insert(other.pending.item.id) }
        for folder in folders where folder != item.id && isInside(item, folder) { return false }
        guard planned.movesFolder else { return true }
        let others = underWay.map(\.pending.item).filter { isInside($0, item.id) }
        if !others.contains(where: { long.contains($0.id) }) { folders.insert(item.id) }
        return others.isEmpty
    }

    /// Whether the item is in the folder, by its present or intended place in the store.
    private mutating func isInside(_ item: ItemRecord, _ folder: ItemID) -> Bool {
        for parent in Set([item.base, item.remote, item.local].compactMap { $0?.parent }) {
            let place = Place(parent: parent, folder: folder)
            // (If the catalog does not answer, wait: nothing can be sent without the catalog anyhow.)
            let answer = known[place] ?? (try? catalog.read { try $0.isRemotelyInside(parent, folder) }) ?? true
            known[place] = answer
            if answer { return true }
        }
        return false
    }
}
