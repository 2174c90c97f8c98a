import ContentStore
import Dispatch
import FileProvider
import Glibc
import ItemCatalog
import Locking
import SyncEngine
import Synchronization
import Trees

/// fsync(2).
extension Volume {
    /// fsync(2): the bytes and the catalog, which records in one transaction what was written and that it is durable.
    ///
    /// Where it can, it syncs both at the same time, which takes as long as one sync.
    package func synchronize(_ id: HandleID) throws(VolumeError) {
        guard let handle = handles[id] else { throw VolumeError(EBADF, "not open") }
        do {
            if try synchronizeTogether(handle) { return }
            // If recording gave the file another label, or somebody wrote meanwhile, it is done once more.
            if try !synchronizeContents(handle) { _ = try synchronizeContents(handle) }
            if handle.isWritable { engine.changed() }
            try synchronizeCatalogNow(isAwaited: true)
        } catch {
            throw VolumeError(error)
        }
    }

    /// All calls that have returned so far survive power loss (fsync of a folder).
    package func synchronizeCatalog() throws(VolumeError) {
        do { try synchronizeCatalogNow(isAwaited: true) } catch { throw VolumeError(error) }
    }

    /// The contents of an open document, with the date and the downloads that are to be recorded.
    private func contentToSynchronize(_ handle: HandleTable.Handle) throws -> ContentFile? {
        let content = try handle.node.withLock { state in
            if handle.isWritable { try dateFile(state) }
            return state.content
        }
        // Otherwise the download would be recorded later, and count as not durable.
        if content?.isRecorded == false { engine.recordDownload(of: handle.node.inode) }
        return content
    }

    // MARK: First the bytes, then the catalog

    /// - Returns: false when the file has changed since it was synced.
    private func synchronizeContents(_ handle: HandleTable.Handle) throws -> Bool {
        let node = handle.node
        let content = try contentToSynchronize(handle)
        var synced: SyncedContents?
        var downloaded: UndurableContents?
        var isUnsent = false
        if let content {
            (isUnsent, downloaded) = try catalog.read {
                (try $0.hasUnsentContents(node.inode), try $0.undurable(node.inode))
            }
            synced = SyncedContents(content.id, try content.steadyStatus(), present: content.present)
            _ = try mount.store.synchronize(content.id, content)
        }
        guard handle.isWritable || isUnsent else { return true }
        var isDurable = true
        try recordAndNote(handle) { writer, isRelabelled in
            guard let content, let synced else { return }
            isDurable = try !isRelabelled && synced.isState(of: content.id, content.steadyStatus())
            if isDurable {
                if let downloaded { try writer.forgetUndurable([downloaded]) }
                try writer.noteSynced(node.inode, synced)
            } else if let durable = synced.durable {
                try writer.noteDurable(node.inode, generation: synced.generation, durable)
            }
        }
        return isDurable
    }

    /// Records what was written, and in the same transaction what `note` adds.
    private func recordAndNote(
        _ handle: HandleTable.Handle, _ note: (Catalog.Writer, _ isRelabelled: Bool) throws -> Void
    ) throws {
        let node = handle.node
        try changing(node) { state in
            func noteAll(_ writer: Catalog.Writer, _ isRelabelled: Bool) throws {
                try note(writer, isRelabelled)
                if handle.isWritable { try writer.becomeReady(node.inode, settle: times.settleAfterSync) }
            }
            let isNoted = try handle.isWritable && record(node, &state, noteAll) != .nothing
            if !isNoted { try catalog.write { try noteAll($0, false) } }
        }
    }

    // MARK: Both at the same time

    /// The catalog notes that the bytes are durable before they are. So the file gets a mark that tells whether the note is
    /// true (``ContentStore/setSyncMark(_:of:)``).
    ///
    /// - Returns: false when that cannot be done: on this file system, for bytes that came from the store and may not be
    ///   durable, for a document that somebody else writes meanwhile, and for one without changes that were not
    ///   recorded. (Of those a note may be true already; a new mark would make it false until this sync has ended.)
    private func synchronizeTogether(_ handle: HandleTable.Handle) throws -> Bool {
        guard mount.store.keepsOrder, handle.isWritable, let content = try contentToSynchronize(handle),
            content.isComplete, content.isRecorded
        else { return false }
        let node = handle.node
        let isWhole = try catalog.read {
            try $0.undurable(node.inode) == nil && $0.inodeIfPresent(node.inode)?.extents == nil
        }
        guard isWhole, var synced = SyncedContents(content.id, try content.steadyStatus(), present: nil) else {
            return false
        }
        try content.writeOut()
        synced.mark = UInt64.random(in: 0...UInt64.max)
        // Mark and note belong together: nobody else may set another mark in between.
        let isNoted = try changing(node) { state in
            guard state.content === content, try isChanged(node, &state, content),
                try synced.isState(of: content.id, content.steadyStatus()),
                mount.store.setSyncMark(synced.mark ?? 0, of: content)
            else { return false }
            var isSteady = false
            _ = try record(node, &state) { writer, _ in
                isSteady = try synced.isState(of: content.id, content.steadyStatus())
                if isSteady { try writer.noteSynced(node.inode, synced) }
                try writer.becomeReady(node.inode, settle: times.settleAfterSync)
            }
            return isSteady
        }
        guard isNoted else { return false }
        engine.changed()
        let catalogSync = catalogSyncs.begin { [self] in try synchronizeCatalogNow(isAwaited: true) }
        let fileSync = Result { _ = try mount.store.synchronize(content.id, content) }
        let end = catalogSync.end()
        if case .failure = fileSync {
            try? catalog.write { try $0.forgetSynced(node.inode) }
            try? synchronizeCatalogNow()
        }
        try fileSync.get()
        try end.get()
        return true
    }

    /// Whether a program has written to it since its changes were recorded.
    private func isChanged(_ node: Node, _ state: inout Node.State, _ content: ContentFile) throws -> Bool {
        guard let writing = state.open?.writing else { return false }
        guard state.isPassedThrough else { return writing.unrecorded != nil }
        return try stamp(node, &state) != BackingStamp(content.status())
    }

    /// The file itself gets the date that the catalog gets: by that date the file is known again after a power loss.
    func dateFile(_ state: Node.State) throws {
        guard let content = state.content, !state.isPassedThrough,
            let modified = state.open?.writing?.unrecorded?.modified.nanoseconds,
            try content.status().modified != modified
        else { return }
        try content.setModified(modified)
    }
}

/// Syncs the catalog on a thread of its own, while the calling thread syncs a file: one after another, so that one sync
/// does for all that wait.
final class CatalogSyncs: Sendable {
    private let queue = DispatchQueue(label: "catalog.sync", qos: .userInitiated)

    func begin(_ sync: @escaping @Sendable () throws -> Void) -> CatalogSync {
        let begun = CatalogSync()
        queue.async { begun.ends(Result { try sync() }) }
        return begun
    }
}

/// A sync of the catalog under way.
final class CatalogSync: Sendable {
    private let result = Mutex<Result<Void, any Error>>(.success(()))
    private let isOver = DispatchSemaphore(value: 0)

    fileprivate func ends(_ result: Result<Void, any Error>) {
        self.result.withLock { $0 = result }
        isOver.signal()
    }

    /// Waits for the end; to be called once.
    func end() -> Result<Void, any Error> {
        isOver.wait()
        return result.withLock { $0 }
    }
}
