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
        return node.withLock { state in
            guard state.writers > 0, let content = state.content else { return false }
            guard state.isPassedThrough else { return state.open?.writing?.unrecorded != nil }
            return BackingStamp(try? content.status()) != stamp(node, &state)
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
            case .conflict(let inode): reportConflict(inode)
            }
        }
        if !gone.isEmpty { reclaim(gone) }
    }

    /// All that was committed before the call is visible in this folder to programs that look up names there. False if
    /// a program held on to the folder for so many seconds.
    package func isSeen(in folder: InodeID, within seconds: Double) async -> Bool {
        guard let id = table.id(of: folder) else { return true }
        // The kernel keeps negative entries only for folders that have been listed; and a look-up in another folder may
        // wait for the very provider that waits here.
        guard (try? catalog.read { try $0.inodeIfPresent(folder)?.isEnumerated }) ?? false else { return true }
        return await kernel.settle(id, seconds: seconds)
    }

    /// Programs that have the document open for writing go on with the bytes that they have, as an inode of its own.
    private func split(_ inode: InodeID, _ new: InodeID) {
        // The new inode has the document's attributes.
        privateAttributes.withLock { if $0?.contains(inode) == true { $0?.insert(new) } }
        // Programs that came by the name since have the store's version, in another node; of several old versions this
        // is the oldest.
        let record = current(inode)
        let nodes = table.generations(of: inode)
        let old = nodes.first { node in node.withLock { $0.generation < record?.generation ?? .max } }
        let isWritten = old.map { node in
            node.withLock { state in
                guard let content = state.content else { return false }
                mount.store.rename(content, to: GenerationID(inode: new.rawValue, number: 1))
                mount.store.remove(GenerationID(inode: inode.rawValue, number: state.generation))
                if let stamp = stamp(node, &state) { state.open?.writing?.stamp = restamp(stamp, new) }
                // (Another inode number.)
                state.open?.writing?.isShownOutdated = true
                state.generation = 1
                table.split(node, to: new)
                return state.isMarked
            }
        }
        splits.published()
        guard isWritten != true else { return }
        // Nobody has it open: the next open is not of this version.
        if isWritten == false, let old, let record, old.inode == inode { freeze(old, as: record) }
        // A mapping is all that is left of the writer. (Or a reader: the writer has closed it since, and has ended only
        // the mark on the document, which was not the writer's any more.)
        dropOldGenerations(inode)
        let writing = try? catalog.read { try $0.inodeIfPresent(new)?.writing }
        if case .some(.maybeModified(let stamp)) = writing { _ = restamp(stamp, new) }
        watchMapping(of: new, generation: 1)
    }

    /// A file whose names changed has another ctime: with the same size and date nobody has written to it for that.
    private func restamp(_ stamp: BackingStamp, _ new: InodeID) -> BackingStamp {
        let now = BackingStamp(mount.store.status(GenerationID(inode: new.rawValue, number: 1)))
        guard let now, now.size == stamp.size, now.modified == stamp.modified else { return stamp }
        try? catalog.write { try $0.beginWriting(new, generation: 1, mark: .maybeModified(now)) }
        return now
    }

    /// The row as it was committed a moment ago. When it cannot be read, programs may go on seeing the old one.
    private func current(_ inode: InodeID) -> InodeRecord? {
        do { return try catalog.read { try $0.inodeIfPresent(inode) } } catch {
            mount.logger.error(
                "the catalog cannot be read: programs may go on seeing an old version of a document",
                metadata: ["inode": "\(inode)", "error": "\(error)"])
            return nil
        }
    }

    private func reportConflict(_ inode: InodeID) {
        label(inode)
        let path = (try? catalog.read { try $0.path(of: inode) })??.map(\.string).joined(separator: "/")
        mount.logger.warning(
            "conflict: the store replaced a document while a program was writing it; both versions are kept",
            metadata: ["local version": "\(path ?? inode.description)"])
    }

    private func contentsReplaced(_ inode: InodeID) {
        defer { dropOldGenerations(inode) }
        guard let record = current(inode) else { return }
        for node in table.generations(of: inode) {
            if !rebase(node, on: record) {
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

    /// Gives the new generation to programs that have the old one open, if no byte of the old one was handed out.
    @discardableResult
    func rebase(_ node: Node, on record: InodeRecord) -> Bool {
        guard table.current(record.id) === node else { return false }
        let isRebased = node.withLock { state in
            guard state.generation < record.generation, let content = state.content, content.bytesPresent == 0,
                content.baseSize > 0, state.writers == 0, !state.isPassedThrough,
                let fresh = try? openContent(record)
            else { return false }
            state.generation = record.generation
            state.open?.content = fresh
            state.open?.targetEdition = catalog.edition
            state.open?.target = try? downloadTarget(of: record.id, generation: record.generation)
            return true
        }
        if isRebased { table.rebase(node, to: record.generation) }
        return isRebased
    }

    /// Makes the node a past generation, which looks as before to programs that have it open. It is not past if a
    /// program opened it since the store's version was committed: that program has this version and may be writing it.
    /// Nor is it if a writer has it open, whose bytes are split from the document, as the volume is about to be told.
    func freeze(_ node: Node, as record: InodeRecord) {
        let isPast = node.withLock { state in
            guard !state.isPast, state.generation < record.generation else { return state.isPast }
            if state.isMarked { return false }
            var old = record
            old.generation = state.generation
            if let status = try? state.content?.status() {
                old.size = status.size
                old.extents = state.content?.present
                old.baseSize = state.content?.baseSize ?? status.size
            }
            state.version = .past(old)
            return true
        }
        if isPast {
            splits.published()
            table.detach(node)
        }
    }

    /// Removes the file of the generation before the current one; programs that have it open go on with it.
    private func dropOldGenerations(_ inode: InodeID) {
        guard let record = try? catalog.read({ try $0.inodeIfPresent(inode) }), record.generation > 1 else { return }
        mount.store.remove(GenerationID(inode: inode.rawValue, number: record.generation - 1))
    }
}
