import ContentStore
import FileProvider
import ItemCatalog
import Locking
import Logging
import SyncEngine
package import Trees

/// Changes from the provider's side: nodes give way to new ones, and the kernel is told to forget.
extension Volume: VolumeObserving {
    package func isOpen(_ inode: InodeID) -> Bool { table.isOpen(inode) || isLeavingStore(inode) }

    package func isBeingWritten(_ inode: InodeID) -> Bool {
        guard let node = table.current(inode) else { return false }
        return node.state.withLock { state in
            guard state.writers > 0, let content = state.content else { return false }
            guard case .passthrough = state.mode else { return state.unrecorded != nil }
            return BackingStamp(try? content.status()) != state.stamp
        }
    }

    package func catalogChanged(_ changes: [CatalogChange]) {
        momentPasses()
        var gone: [InodeID] = []
        for change in changes {
            switch change {
            case .entry(let folder, let name, let isNew):
                guard let id = table.id(of: folder) else { continue }
                if isNew {
                    kernel.expireEntry(in: id, name: name)
                } else {
                    kernel.invalidateEntry(in: id, name: name)
                }
            case .attributes(let inode):
                if let id = table.id(of: inode) { kernel.invalidateAttributes(of: id) }
            case .contents(let inode):
                contentsReplaced(inode)
            case .removed(let inode):
                if let id = table.id(of: inode) { kernel.invalidateAttributes(of: id) }
                if let orphan = table.orphan(inode) { gone.append(orphan) }
            case .split(let inode, let new): split(inode, new)
            case .conflict(let inode): tellConflict(inode)
            }
        }
        if !gone.isEmpty { reclaim(gone) }
    }

    /// What was committed before the call shows in this folder, to whoever looks by a name there; false after so
    /// many seconds in which a program held on to the folder.
    package func isSeen(in folder: InodeID, within seconds: Double) async -> Bool {
        guard let id = table.id(of: folder) else { return true }
        // That nothing has a name, the kernel is told only of folders that have been listed; and a look-up in another may
        // wait for the very provider that waits here.
        guard (try? catalog.read { try $0.inodeIfPresent(folder)?.isEnumerated }) ?? false else { return true }
        return await kernel.settle(id, seconds: seconds)
    }

    /// Who has the document open for writing goes on with the bytes that he has, as an inode of their own.
    private func split(_ inode: InodeID, _ new: InodeID) {
        // It has the document's attributes.
        privateAttributes.withLock { if $0?.contains(inode) == true { $0?.insert(new) } }
        // Who came by the name since has the store's version, in a node of his own; of several versions this is the oldest.
        let record = current(inode)
        let nodes = table.generations(of: inode)
        let old = nodes.first { node in node.state.withLock { $0.generation < record?.generation ?? .max } }
        let isWritten = old.map { node in
            node.state.withLock { state in
                guard state.handles > 0 else { return false }
                if let content = state.content {
                    context.store.rename(content, to: GenerationID(inode: new.rawValue, number: 1))
                }
                context.store.remove(GenerationID(inode: inode.rawValue, number: state.generation))
                if let stamp = state.stamp { state.stamp = restamp(stamp, new) }
                state.generation = 1
                table.split(node, to: new)
                return state.stamp != nil
            }
        }
        guard isWritten != true else { return }
        // Nobody has it open: the next one is not of this version.
        if isWritten == false, let old, let record, old.inode == inode { freeze(old, as: record) }
        // A mapping is all that is left of the writer. (Or a reader: the writer has closed it since, and ended only the
        // mark of what was no longer his.)
        dropOldGenerations(inode)
        let writing = try? catalog.read { try $0.inodeIfPresent(new)?.writing }
        if case .some(.maybeModified(let stamp)) = writing { _ = restamp(stamp, new) }
        watchMapping(of: new, generation: 1)
    }

    /// A file whose names changed has another ctime: with the same size and date it was not written for that.
    private func restamp(_ stamp: BackingStamp, _ new: InodeID) -> BackingStamp {
        let now = BackingStamp(context.store.status(GenerationID(inode: new.rawValue, number: 1)))
        guard let now, now.size == stamp.size, now.modified == stamp.modified else { return stamp }
        try? catalog.write { try $0.beginWriting(new, generation: 1, mark: .maybeModified(now)) }
        return now
    }

    /// What was committed a moment ago. When it cannot be read, programs may see what was there before.
    private func current(_ inode: InodeID) -> InodeRecord? {
        do { return try catalog.read { try $0.inodeIfPresent(inode) } } catch {
            context.logger.error(
                "the catalog cannot be read: programs may go on seeing an old version of a document",
                metadata: ["inode": "\(inode)", "error": "\(error)"])
            return nil
        }
    }

    private func tellConflict(_ inode: InodeID) {
        label(inode)
        let path = (try? catalog.read { try $0.path(of: inode) })??.map(\.string).joined(separator: "/")
        context.logger.warning(
            "conflict: the store replaced a document while a program was writing it; what it writes is kept apart",
            metadata: ["local version": "\(path ?? inode.description)"])
    }

    private func contentsReplaced(_ inode: InodeID) {
        defer { dropOldGenerations(inode) }
        guard let record = current(inode) else { return }
        for node in table.generations(of: inode) {
            if !isRebased(node, on: record) {
                freeze(node, as: record)
                for place in (try? catalog.read { try $0.places(of: inode) }) ?? [] {
                    if let folder = table.id(of: place.folder) {
                        kernel.invalidateEntry(in: folder, name: place.name)
                    }
                }
            }
            kernel.invalidateContents(of: node.id)
        }
    }

    /// Nothing of the old generation was handed out: programs that have it open get the new one.
    private func isRebased(_ node: Node, on record: InodeRecord) -> Bool {
        guard table.current(record.id) === node else { return false }
        let isRebased = node.state.withLock { state in
            guard state.generation < record.generation, let content = state.content, content.bytesPresent == 0,
                content.baseSize > 0, state.writers == 0, case .cached = state.mode,
                let fresh = try? openContent(record)
            else { return false }
            state.generation = record.generation
            state.content = fresh
            return true
        }
        if isRebased { table.rebase(node, to: record.generation) }
        return isRebased
    }

    /// The node's generation is the past: it looks to who holds it as it did. Unless it is not: of somebody who came since
    /// the store's version was committed, who has that and may be writing it; or of a writer, whose bytes are split from
    /// the document, as the volume is about to be told.
    func freeze(_ node: Node, as record: InodeRecord) {
        let isPast = node.state.withLock { state in
            guard state.frozen == nil, state.generation < record.generation else { return state.frozen != nil }
            if state.stamp != nil { return false }
            var old = record
            old.generation = state.generation
            if let status = try? state.content?.status() {
                old.size = status.size
                old.extents = state.content?.present
                old.baseSize = state.content?.baseSize ?? status.size
            }
            state.frozen = old
            return true
        }
        if isPast { table.detach(node) }
    }

    /// The file of the generation before the current one; whoever has it open goes on with it.
    private func dropOldGenerations(_ inode: InodeID) {
        guard let record = try? catalog.read({ try $0.inodeIfPresent(inode) }), record.generation > 1 else { return }
        context.store.remove(GenerationID(inode: inode.rawValue, number: record.generation - 1))
    }
}
