import ContentStore
import FileProvider
import ItemCatalog
import Locking
import Trees

/// Why a document's bytes stay here.
package enum EvictionRefusal: String, Error, Sendable, CaseIterable {
    case modified = "has changes that are not in the store yet; run hydrant sync first"
    case held = "was deleted in the store: its bytes may be nowhere else; see hydrant resolve"
    case excluded = "lives on this machine only"
    case pinned = "is pinned; unpin it first"
    case open = "is open in a program"
    case mapped = "is still mapped by a program"
    case downloading = "is being downloaded"
}

/// Drops local bytes that the provider has too.
final class Evictor: Sendable {
    private let mount: MountState
    private let reports: EventReports
    private let downloader: Downloader
    /// Held by each eviction; true once no further eviction may begin.
    private let evictions = AdaptiveMutex(false)

    init(mount: MountState, reports: EventReports, downloader: Downloader) {
        self.mount = mount
        self.reports = reports
        self.downloader = downloader
    }

    /// Ends evictions: waits for a running one, and begins no other.
    func stop() { evictions.withLock { $0 = true } }

    struct Evicted {
        /// The number of bytes that were here.
        var bytes: Int64 = 0
        /// The number of bytes that the disk gets back: holes took no room.
        var room: Int64 = 0
    }

    /// - Throws: a ``FileProviderError`` whose cause is an ``EvictionRefusal``.
    func evict(_ id: InodeID) throws -> Evicted {
        let inode = try mount.catalog.read { try $0.inode(id) }
        guard inode.kind == .document else { return Evicted() }
        let generation = GenerationID(inode: id.rawValue, number: inode.generation)
        try refuseIfInUse(inode, generation)
        // The catalog may not have the end of a download yet.
        let freed = max(inode.bytesPresent, mount.store.opened(generation)?.bytesPresent ?? 0)
        let room = min(freed, mount.store.status(generation)?.allocated ?? 0)
        // No eviction may be half done when the daemon ends: it would leave an unreferenced file.
        try evictions.withLock { isOver throws in
            if isOver { throw SyncError.cancelled }
            try drop(id)
        }
        guard freed > 0 else { return Evicted() }
        let item = (try? mount.catalog.read { try $0.item(of: id) }) ?? nil
        reports.log.add(
            SyncEvent(.evicted, path: mount.path(of: id), identifier: item?.identifier, bytes: freed))
        return Evicted(bytes: freed, room: room)
    }

    private func drop(_ id: InodeID) throws {
        // One transaction decides: the document may have been modified or opened since.
        let evicted: Result<Int64, FileProviderError> = try mount.catalog.write { writer in
            let inode = try writer.inode(id)
            if try writer.item(of: id)?.isExcluded == true { return .failure(refusal(.excluded)) }
            guard let item = try writer.item(of: id), !item.isModified, item.identifier != nil, inode.writing == nil
            else { return .failure(refusal(.modified)) }
            if item.heldSince != nil { return .failure(refusal(.held)) }
            if try writer.isPinned(item) { return .failure(refusal(.pinned)) }
            if mount.volume?.isOpen(id) == true { return .failure(refusal(.open)) }
            return .success(try writer.evict(id))
        }
        let old = try evicted.get()
        // The catalog's record that the store has the bytes must be durable before they go: after a crash the missing
        // bytes would otherwise pass for a lost local change.
        try mount.catalog.synchronize()
        let gone = GenerationID(inode: id.rawValue, number: old)
        mount.store.remove(gone)
        // An open descriptor would keep the space in use.
        downloader.forget(gone)
    }

    private func refuseIfInUse(_ inode: InodeRecord, _ generation: GenerationID) throws {
        if mount.volume?.isOpen(inode.id) == true { throw refusal(.open) }
        if downloader.isAwaited(generation) { throw refusal(.downloading) }
        // A mapping may outlive the last close: ask the kernel for a lease on the file itself.
        guard mount.store.status(generation) != nil else { return }
        let content = try mount.openCurrent(inode.id).content
        if content.isUsedElsewhere { throw refusal(.mapped) }
    }

    private func refusal(_ why: EvictionRefusal) -> FileProviderError {
        FileProviderError(.busy, why.rawValue, cause: why)
    }
}
