import ContentStore
package import FileProvider
import Glibc
import ItemCatalog
import Logging
import SyncEngine
import Synchronization

/// How the kernel is to handle an open file.
package enum OpenedAs: Sendable, Equatable {
    /// Through us, with its page cache, which stays valid over opens.
    case cached
    /// Straight to the local file behind this backing id.
    case passthrough(backing: Int32)
}

package struct Opened: Sendable {
    package var handle: HandleID
    package var mode: OpenedAs
    /// No FLUSH is needed when it is closed.
    package var isReadOnly: Bool
}

extension Volume {
    /// open(2) without O_CREAT. A writable one leaves a durable dirty mark before it returns.
    package func open(_ id: NodeID, flags: Int32) throws(VolumeError) -> Opened {
        let node = try node(id)
        let writes = flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0
        // Counted first, so that an eviction either sees this open or is over before it.
        table.opened(node.inode)
        do {
            let mode = try node.state.withLock { state throws(VolumeError) in
                do { return try begin(node, &state, writes: writes, truncates: flags & O_TRUNC != 0) } catch {
                    throw VolumeError(error)
                }
            }
            let handle = handles.add(HandleTable.Handle(node: node, isWritable: writes))
            return Opened(handle: handle, mode: mode, isReadOnly: !writes)
        } catch {
            if let inode = table.closed(node) { reclaim(inode) }
            throw error
        }
    }

    /// open(2) with O_CREAT of a name that is free.
    package func create(
        _ name: Filename, in folder: NodeID, mode: UInt32, uid: UInt32, gid: UInt32
    ) throws(VolumeError) -> Outcome<(Lookup, Opened)> {
        let parent = try checkedParent(folder, name)
        return try answer {
            try requireListing(parent)
            let file = NewFile(kind: .document, mode: mode & 0o7777, uid: uid, gid: gid)
            let record = try catalog.write {
                try $0.create(file, in: parent.inode, named: name, settle: times.settle)
            }
            // In use from the start: it is not uploaded before its writer has let go.
            table.opened(record.id)
            let lookup = reference(record)
            let node = try node(lookup.node)
            let openMode = try node.state.withLock { state in
                state.isMarkedModified = true
                let content = try context.store.open(
                    GenerationID(inode: record.id.rawValue, number: record.generation), size: 0, baseSize: 0,
                    present: nil)
                state.content = content
                state.stamp = BackingStamp.none
                return try enter(&state, content, writes: true)
            }
            let handle = handles.add(HandleTable.Handle(node: node, isWritable: true))
            return .ready((lookup, Opened(handle: handle, mode: openMode, isReadOnly: false)))
        }
    }

    private func begin(_ node: Node, _ state: inout Node.State, writes: Bool, truncates: Bool) throws -> OpenedAs {
        let record = try catalog.read { try $0.inode(node.inode) }
        guard record.kind == .document else {
            throw VolumeError(record.isFolder ? EISDIR : ELOOP, "not a document")
        }
        // ESTALE makes the kernel look the name up again, which finds the new generation.
        guard record.generation == state.generation, state.frozen == nil else {
            throw VolumeError(ESTALE, "the document was replaced")
        }
        let content = try state.content ?? openContent(record)
        if writes && state.writers == 0 {
            if content.isComplete { try content.setModified(record.modified.nanoseconds) }
            // A download changes the file as well: only of a whole one do time stamps tell of a writer. Into a
            // partial one programs write through us, which marks it modified.
            let stamp = content.isComplete ? BackingStamp(try content.status()) ?? .none : BackingStamp.none
            try catalog.write {
                try $0.beginWriting(node.inode, generation: record.generation, mark: .maybeModified(stamp))
            }
            state.stamp = stamp
            state.isMarkedModified = record.writing == .modified
        }
        state.content = content
        if !content.isComplete { state.target = try downloadTarget(of: node.inode) }
        if truncates { try cut(node, &state, content, to: 0) }
        return try enter(&state, content, writes: writes)
    }

    /// Cached or passthrough: as it is open already, else passthrough when everything is here.
    private func enter(_ state: inout Node.State, _ content: ContentFile, writes: Bool) throws -> OpenedAs {
        let opened: OpenedAs
        switch state.mode {
        case .cached(let handles):
            state.mode = .cached(handles: handles + 1)
            opened = .cached
        case .passthrough(let id, let handles):
            state.mode = .passthrough(backing: id, handles: handles + 1)
            opened = .passthrough(backing: id)
        case .none:
            if content.isComplete, let id = backing.register(content.descriptor) {
                state.mode = .passthrough(backing: id, handles: 1)
                opened = .passthrough(backing: id)
            } else {
                state.mode = .cached(handles: 1)
                opened = .cached
            }
        }
        state.handles += 1
        if writes { state.writers += 1 }
        return opened
    }

    /// The local file of a document's current generation.
    func openContent(_ record: InodeRecord) throws -> ContentFile {
        let id = GenerationID(inode: record.id.rawValue, number: record.generation)
        do {
            return try context.open(record)
        } catch {
            guard error.code == .missing else { throw error }
            try lostContent(record, id)
        }
    }

    /// Somebody removed a file from the content store. The provider's bytes can come again; ours cannot.
    private func lostContent(_ record: InodeRecord, _ id: GenerationID) throws -> Never {
        let item = try catalog.read { try $0.item(of: record.id) }
        guard let item, !item.isModified, record.writing == nil else {
            throw VolumeError(EIO, "the local bytes (storage/\(id)) are missing and were not in the store yet")
        }
        context.logger.warning("local bytes are missing, they are downloaded again", metadata: ["file": "\(id)"])
        // Nobody is told: the kernel looks the name up again because of the ESTALE.
        try catalog.write { _ = try $0.evict(record.id) }
        throw VolumeError(ESTALE, "the local bytes are missing; opened again, they are downloaded")
    }

    // MARK: Closing

    /// FLUSH, before close(2) returns: what was written is pending, durably. It is sent when the last
    /// writer has let go, which only RELEASE tells.
    package func flush(_ id: HandleID) throws(VolumeError) {
        guard let handle = handles[id], handle.isWritable else { return }
        try record(handle.node, settle: nil)
    }

    /// fsync(2): the bytes first, then the catalog.
    package func synchronize(_ id: HandleID) throws(VolumeError) {
        guard let handle = handles[id] else { throw VolumeError(EBADF, "not open") }
        do {
            if let content = handle.node.state.withLock({ $0.content }) { try content.synchronize() }
            if handle.isWritable {
                try record(handle.node, settle: nil)
                try catalog.write { try $0.becomeReady(handle.node.inode, settle: times.settleAfterSync) }
                engine.changed()
            }
            try catalog.synchronize()
        } catch {
            throw VolumeError(error)
        }
    }

    /// Everything that has returned so far survives power loss (fsync of a folder).
    package func synchronizeCatalog() throws(VolumeError) {
        do { try catalog.synchronize() } catch { throw VolumeError(error) }
    }

    private func record(_ node: Node, settle: Double?) throws(VolumeError) {
        let changed = try node.state.withLock { state throws(VolumeError) in
            do { return try record(node, &state, settle: settle) } catch { throw VolumeError(error) }
        }
        if changed { engine.changed() }
    }

    /// Writes into the catalog what writers did since the last time. Returns whether they did anything.
    private func record(_ node: Node, _ state: inout Node.State, settle: Double?) throws -> Bool {
        guard let content = state.content, state.frozen == nil else { return false }
        let now = BackingStamp(try content.status()) ?? BackingStamp.none
        let size: Int64
        let modified: FileTime
        if case .passthrough = state.mode {
            guard now != state.stamp else { return false }
            (size, modified) = (now.size, now.modified)
        } else {
            guard let unrecorded = state.unrecorded else { return false }
            (size, modified) = (unrecorded.size, unrecorded.modified)
        }
        try catalog.write {
            let mark: WritingMark = state.isMarkedModified ? .modified : .maybeModified(now)
            try $0.recordWritten(node.inode, size: size, modified: modified, mark: mark, settle: settle)
        }
        state.stamp = now
        state.unrecorded = nil
        return true
    }

    /// RELEASE: the last descriptor of an open file was closed.
    package func close(_ id: HandleID) {
        guard let handle = handles.remove(id), !handle.isFolder else { return }
        let node = handle.node
        var generation: GenerationID?
        var changes: [CatalogChange] = []
        node.state.withLock { state in
            if handle.isWritable { changes = finishWriter(node, &state) }
            state.handles -= 1
            switch state.mode {
            case .none: break
            case .cached(let count): state.mode = count == 1 ? .none : .cached(handles: count - 1)
            case .passthrough(let backingID, 1):
                backing.unregister(backingID)
                state.mode = .none
            case .passthrough(let backingID, let count):
                state.mode = .passthrough(backing: backingID, handles: count - 1)
            }
            if state.handles == 0 {
                generation = state.content?.id
                state.content = nil
            }
        }
        if let inode = table.closed(node) { reclaim(inode) }
        // Outside the node's lock, which this takes.
        catalogChanged(changes)
        if let generation { engine.released(node.inode, generation) } else if handle.isWritable { engine.changed() }
    }

    /// Returns what the provider changed meanwhile and is taken now.
    private func finishWriter(_ node: Node, _ state: inout Node.State) -> [CatalogChange] {
        state.writers -= 1
        guard state.frozen == nil else { return [] }
        do {
            _ = try record(node, &state, settle: times.settle)
            guard state.writers == 0 else { return [] }
            let changes = try catalog.write { writer in
                try writer.endWriting(node.inode, settle: times.settle, defaults: context.defaults)
                return writer.changes
            }
            state.isMarkedModified = false
            state.stamp = nil
            // Attributes given out while it was written were not for keeping.
            kernel.invalidateAttributes(of: node.id)
            return changes
        } catch {
            context.logger.error(
                "a change could not be recorded; it is found again at the next mount",
                metadata: ["inode": "\(node.inode)", "error": "\(error)"])
            return []
        }
    }
}
