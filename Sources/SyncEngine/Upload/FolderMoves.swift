import ItemCatalog
import Trees

/// Folders that move, and what is in them. A step for something in a folder that moves just then would look for it where
/// it is not any more, and take it for gone: a deletion for done, a document for deleted. So they are never under way at
/// once, whatever way the provider finds its items.
///
/// For one look at what may begin.
struct FolderMoves {
    private let catalog: Catalog
    /// They move, or will when what is under way in them has ended: nothing more begins there, or they never could.
    private var folders: Set<ItemID> = []
    private var known: [Place: Bool] = [:]

    private struct Place: Hashable {
        var parent: ItemID
        var folder: ItemID
    }

    init(catalog: Catalog) { self.catalog = catalog }

    /// Whether the step may begin beside those that are under way.
    ///
    /// - Parameter long: of those, what may take hours: it holds up its folder, and nothing else in there.
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

    /// Where the store has it, or is to have it.
    private mutating func isInside(_ item: ItemRecord, _ folder: ItemID) -> Bool {
        for parent in Set([item.base, item.remote, item.local].compactMap { $0?.parent }) {
            let place = Place(parent: parent, folder: folder)
            // (What cannot be told waits: a catalog that does not answer lets nothing be sent anyhow.)
            let answer = known[place] ?? (try? catalog.read { try $0.isRemotelyInside(parent, folder) }) ?? true
            known[place] = answer
            if answer { return true }
        }
        return false
    }
}
