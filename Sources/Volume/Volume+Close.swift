import ContentStore
import FileProvider
import Glibc
import ItemCatalog
import Locking
import Logging
import SyncEngine
import Trees

/// Flush and close: the catalog records what writers did.
extension Volume {
    /// FLUSH, before close(2) returns: the written bytes are pending, and a killed daemon does not lose them. The next
    /// transaction records them (``ClosedWriters``). They are sent when the last writer has closed the document, of which
    /// only RELEASE tells.
    package func flush(_ id: HandleID) throws(VolumeError) {
        guard let handle = handles[id], handle.isWritable else { return }
        switch try changing(handle.node, { try record(handle.node, &$0, mayWait: true) }) {
        case .nothing: break
        case .recorded: engine.changed()
        case .waits:
            engine.willChange()
            seeToItLater()
        }
    }

    /// Called before setuid, setgid or capabilities are set, which a later write takes away: bytes that were written
    /// past us until now must not be taken for such a write.
    func recordWrittenBefore(
        _ node: Node, _ state: inout Node.State
    ) throws {
        guard state.isPassedThrough, state.writers > 0 else { return }
        _ = try record(node, &state)
    }

    /// What became of a writer's changes.
    enum Recording {
        case nothing, recorded
        /// ``ClosedWriters`` has them.
        case waits
    }

    /// Writes into the catalog what writers did since the last time. The document is not sent before the last of them has
    /// closed it.
    ///
    /// - Parameters:
    ///   - mayWait: the next transaction may do it, where a killed daemon loses nothing by that.
    ///   - besides: done in the same transaction; told whether the file has another label.
    func record(
        _ node: Node, _ state: inout Node.State, mayWait: Bool = false,
        _ besides: (Catalog.Writer, Bool) throws -> Void = { _, _ in }
    ) throws -> Recording {
        let failed = closedWriters.takeFailed(node.inode)
        do { return try record(node, &state, failed, mayWait: mayWait, besides) } catch {
            if let failed { closedWriters.hasFailed(failed) }
            throw error
        }
    }

    /// - Parameter failed: changes that a transaction could not record.
    private func record(
        _ node: Node, _ state: inout Node.State, _ failed: ClosedWriters.Unrecorded?, mayWait: Bool,
        _ besides: (Catalog.Writer, Bool) throws -> Void
    ) throws -> Recording {
        // (Before the file's status: of a label that comes in between, the transaction below tells.)
        _ = stamp(node, &state)
        guard let content = state.content, let writing = state.open?.writing else { return .nothing }
        try dateFile(state)
        var now = BackingStamp(try content.status()) ?? BackingStamp.none
        let size: Int64
        let modified: FileTime
        let changed: FileTime
        var killsPrivileges = false
        let isPassedThrough = state.isPassedThrough
        if isPassedThrough {
            guard now != writing.stamp || failed != nil || !writing.dates.isEmpty else { return .nothing }
            if writing.isUntouched(now) {
                let row = try catalog.read { try $0.inode(node.inode) }
                try content.setModified(row.modified.nanoseconds)
                now = BackingStamp(try content.status()) ?? BackingStamp.none
                (size, modified, changed) = (now.size, row.modified, row.changed)
            } else {
                (size, modified, changed) = (now.size, now.modified, now.changed)
            }
            // Nobody knows which program wrote past us; it is safer to take them away.
            killsPrivileges = state.isPrivileged
        } else {
            let earlier = failed.map {
                Node.Writing.Unrecorded(
                    size: $0.written.size, modified: $0.written.modified, changed: $0.written.changed)
            }
            guard let unrecorded = writing.unrecorded ?? earlier else { return .nothing }
            (size, modified, changed) = (unrecorded.size, unrecorded.modified, unrecorded.changed)
        }
        var written = Written(
            inode: node.inode, generation: state.generation, size: size, modified: modified, changed: changed,
            stamp: now, isMarkedModified: writing.isMarkedModified, killsPrivileges: killsPrivileges,
            dates: writing.dates.without(laterThan: modified))
        let (isRecorded, extents) = (content.isRecorded, content.present)
        if mayWait, isRecorded, extents == nil, !killsPrivileges, writing.isMarkedModified || writing.stamp != .none {
            let waits = try catalog.peekInTurn { reader in
                // (A transaction has labelled the file since it was looked at.)
                if isPassedThrough, failed == nil, writing.dates.isEmpty, self.stamp(node, &state) == now {
                    return false
                }
                let row = try reader.inode(node.inode)
                guard row.generation == written.generation else {
                    throw CatalogError(.replaced, "the contents were replaced")
                }
                // (Whatever becomes of the catalog, the bytes are known to be modified when close(2) returns.)
                var after = row
                (after.size, after.modified) = (written.size, written.modified)
                if try mount.labels.labelWritten(after, in: reader), let labelled = BackingStamp(try content.status()) {
                    written.stamp.changed = labelled.changed
                }
                written.changed = row.changed(after: written.changed, now: .now)
                closedWriters.add(
                    ClosedWriters.Unrecorded(
                        written: written, content: content, isPassedThrough: isPassedThrough,
                        before: Node.ShownTimes(row)))
                return true
            }
            if waits { wasRecorded(&state, writing, written.stamp, Node.ShownTimes(written)) }
            return waits ? .waits : .nothing
        }
        let recorded = try catalog.write { writer -> (InodeRecord, BackingStamp)? in
            if isPassedThrough, failed == nil, writing.dates.isEmpty, self.stamp(node, &state) == now { return nil }
            // (A download is recorded a while later, and for this generation only: not for a copy that was split off
            // it.)
            if try !isRecorded || writer.inodeIfPresent(written.inode)?.extents != nil {
                try writer.recordExtents(written.inode, generation: written.generation, extents: extents)
            }
            let (row, stamp, isRelabelled) = try record(written, content, isPassedThrough: isPassedThrough, writer)
            try besides(writer, isRelabelled)
            return (row, stamp)
        }
        guard let (row, stamp) = recorded else { return .nothing }
        if !isRecorded { mount.extentsGrew() }
        content.noteRecorded(extents)
        if killsPrivileges {
            (state.isSetID, state.hasCapabilities) = (false, false)
            state.open?.writing?.isShownOutdated = true
        }
        wasRecorded(&state, writing, stamp, Node.ShownTimes(row))
        return .recorded
    }

    private func wasRecorded(
        _ state: inout Node.State, _ writing: Node.Writing, _ stamp: BackingStamp, _ times: Node.ShownTimes
    ) {
        state.open?.writing?.stamp = stamp
        state.open?.writing?.unrecorded = nil
        state.open?.writing?.dates = Node.SetDates()
        // (A new document that is longer by now: the kernel knows of the write. This is the usual case.)
        if writing.shown.map({ $0 != times && ($0.size > 0 || times.size == 0) }) ?? false {
            state.open?.writing?.isShownOutdated = true
        }
    }

    /// RELEASE: the last descriptor of an open file was closed.
    package func close(_ id: HandleID) {
        guard let handle = handles.remove(id), !handle.isFolder else { return }
        let node = handle.node
        var end = End()
        do {
            try changing(node) { state in
                let isLast = state.open?.handles == 1
                // (The other handles go on with the file's stamp, which recording may change.)
                if !isLast { catalog.settle() }
                let recording = try record(node, &state, mayWait: isLast)
                end = leave(node, &state, handle, recorded: recording != .nothing)
            }
        } catch {
            notRecorded(node.inode, error)
            end = node.withLock { leave(node, &$0, handle, recorded: nil) }
        }
        if handle.isWritable { splits.published() }
        end.rescue?.cancel()
        if end.isStale { kernel.invalidateAttributes(of: node.id) }
        if end.hasPages { kernel.invalidateContents(of: node.id) }
        let inode = node.inode
        if end.isMapped, let released = end.released { watchMapping(of: inode, generation: released.number) }
        if let gone = table.closed(node) { reclaim(gone) }
        if let released = end.released {
            closedWriters.forgetStamps(inode)
            engine.released(inode, released)
        }
        if end.isMarkWaiting {
            engine.willChange()
            seeToItLater()
        } else if handle.isWritable || end.isWriterDone {
            engine.changed()
        }
    }

    /// What is left to do once a handle is gone, outside of the node's lock.
    private struct End {
        /// Set when the last handle was closed: nobody has the document open now.
        var released: GenerationID?
        var rescue: Task<Void, Never>?
        var isWriterDone = false
        /// ``ClosedWriters`` takes the mark away.
        var isMarkWaiting = false
        var isMapped = false
        /// The kernel has attributes that are not those of the row.
        var isStale = false
        /// The kernel may have pages of bytes that were written past it.
        var hasPages = false
    }

    /// - Parameter recorded: whether there was anything to record; nil: recording failed, and the mark that tells of it
    ///   must stay.
    private func leave(
        _ node: Node, _ state: inout Node.State, _ handle: HandleTable.Handle,
        recorded: Bool?
    ) -> End {
        var end = End()
        guard var open = state.open.take() else { return end }
        defer { if open.handles > 0 { state.open = open } }
        open.handles -= 1
        if handle.isWritable { open.writing?.writers -= 1 }
        // A mapping that outlives the last close holds the file below, not ours (passthrough): a mapping of these
        // programs, or of some before them.
        var mayBeMapped = open.mayBeMapped
        if case .passthrough(let id, let wasDirect) = open.mode {
            mayBeMapped = true
            if open.handles == 0 {
                backing.unregister(id)
                end.hasPages = wasDirect
            }
        }
        if open.handles == 0 {
            end.released = open.content.id
            end.rescue = open.rescue
        }
        guard let writing = open.writing, writing.writers == 0 else { return end }
        let isKnown = state.isKnownToKernel || writing.shown != nil
        let isUnseen = recorded == nil || writing.changesUnseen || writing.isShownOutdated || open.mayBeMapped
        if recorded == nil {
            open.writing = nil
            _ = closedWriters.takeFailed(node.inode)
            // (The watch for changes through a mapping finds these.)
            end.isMapped = end.released != nil && open.content.isComplete
        } else if let released = end.released {
            if closedWriters.close(node.inode, mapped: mayBeMapped ? (released, writing.stamp) : nil) {
                end.isMarkWaiting = true
            } else {
                end.isMapped = open.content.isComplete
            }
        } else if !mayBeMapped {
            _ = endWriting(node.inode, mapped: nil, isReady: true)
            open.writing = nil
        } else if handle.isWritable || recorded == true {
            // Others have it open: whether the writer left a mapping is seen when they have closed it. The document may
            // be sent.
            let stamp = endWriting(node.inode, mapped: writing.stamp, isReady: true)
            open.writing = Node.Writing(stamp: stamp ?? writing.stamp)
            open.mayBeMapped = true
        } else {
            return end
        }
        end.isWriterDone = true
        (end.isStale, state.isKnownToKernel) = (isKnown && isUnseen, isKnown && !isUnseen)
        return end
    }

    /// Returns another stamp for a file that stays marked, if its label gave it one.
    private func endWriting(
        _ inode: InodeID, mapped: BackingStamp?, isReady: Bool
    ) -> BackingStamp? {
        do {
            return try catalog.write { writer in
                try writer.endWriting(
                    inode, settle: isReady ? times.settle : nil, defaults: mount.defaults, mapped: mapped)
                // The upload may have been confirmed while the writer still had it open.
                let record = try writer.inodeIfPresent(inode)
                return try record.flatMap { try mount.labels.updateMarked($0, in: writer) }
            }
        } catch {
            mount.logger.error(
                "cannot clear a dirty mark; the document is checked again at the next mount",
                metadata: ["inode": "\(inode)", "error": "\(error)"])
            return nil
        }
    }
}
