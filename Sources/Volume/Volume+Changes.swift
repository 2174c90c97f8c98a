import ContentStore
import FileProvider
package import ItemCatalog
import Logging
import SyncEngine
import Synchronization

/// Changes from the provider's side: nodes give way to new ones, and the kernel is told to forget.
extension Volume: VolumeObserving {
    package func isOpen(_ inode: InodeID) -> Bool { table.isOpen(inode) }

    package func isBeingWritten(_ inode: InodeID) -> Bool {
        guard let node = table.current(inode) else { return false }
        return node.state.withLock { state in
            guard state.writers > 0, let content = state.content else { return false }
            guard case .passthrough = state.mode else { return state.unrecorded != nil }
            return BackingStamp(try? content.status()) != state.stamp
        }
    }

    package func catalogChanged(_ changes: [CatalogChange]) {
        for change in changes {
            switch change {
            case .entry(let folder, let name):
                if let node = table.current(folder) { kernel.invalidateEntry(in: node.id, name: name) }
            case .attributes(let inode):
                if let node = table.current(inode) { kernel.invalidateAttributes(of: node.id) }
            case .contents(let inode):
                contentsReplaced(inode)
            case .removed(let inode):
                if let node = table.current(inode) { kernel.invalidateAttributes(of: node.id) }
                if let gone = table.orphan(inode) { reclaim(gone) }
            }
        }
    }

    private func contentsReplaced(_ inode: InodeID) {
        guard let node = table.current(inode), let record = try? catalog.read({ try $0.inodeIfPresent(inode) }) else {
            return dropOldGenerations(inode)
        }
        let rebased = node.state.withLock { state in
            // Nothing of the old generation was handed out: programs that have it open get the new one.
            guard let content = state.content, content.bytesPresent == 0, content.baseSize > 0, state.writers == 0,
                case .cached = state.mode, let fresh = try? openContent(record)
            else { return false }
            state.generation = record.generation
            state.content = fresh
            return true
        }
        if rebased {
            table.rebase(node, to: record.generation)
        } else {
            freeze(node, as: record)
            if let place = try? catalog.read({ try $0.place(of: inode) }), let folder = table.current(place.folder) {
                kernel.invalidateEntry(in: folder.id, name: place.name)
            }
        }
        kernel.invalidateContents(of: node.id)
        dropOldGenerations(inode)
    }

    /// The node's generation is the past: it looks to who holds it as it did.
    func freeze(_ node: Node, as record: InodeRecord) {
        table.detach(node)
        node.state.withLock { state in
            guard state.frozen == nil else { return }
            var old = record
            old.generation = state.generation
            if let status = try? state.content?.status() {
                old.size = status.size
                old.extents = state.content?.present
                old.baseSize = state.content?.baseSize ?? status.size
            }
            state.frozen = old
        }
    }

    /// The file of the generation before the current one; whoever has it open goes on with it.
    private func dropOldGenerations(_ inode: InodeID) {
        guard let record = try? catalog.read({ try $0.inodeIfPresent(inode) }), record.generation > 1 else { return }
        context.store.remove(GenerationID(inode: inode.rawValue, number: record.generation - 1))
    }
}
