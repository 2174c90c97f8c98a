import ContentStore
import FileProvider
import Glibc
import ItemCatalog
import Locking
import Logging
package import SyncEngine
import Synchronization
import Trees

/// The file system as POSIX has it: inodes, handles, names. Knows nothing of libfuse.
///
/// Every call is answered from memory, the catalog or the local disk, on the thread that makes it; a call that needs
/// the provider returns ``Outcome/wait(_:)``. Lock order: see ``Node``.
package final class Volume: Sendable {
    package let engine: SyncEngine
    let mount: MountState
    let table = NodeTable()
    let keptListings = KeptListings()
    let handles = HandleTable()
    /// Inodes that may have attributes outside `user.`; nil: the catalog has not been asked yet. `ls -l` asks for one
    /// of each file, and so does every open for writing, so a file without any must cost nothing.
    let privateAttributes = AdaptiveMutex<Set<InodeID>?>(nil)
    /// Inodes whose bytes could not be downloaded when a save asked for them.
    let unobtainable = AdaptiveMutex<Set<InodeID>>([])
    /// Inodes that were downloaded on their way into a trash, and until when they are not evicted.
    let leaving = AdaptiveMutex<[InodeID: ContinuousClock.Instant]>([:])
    let deferredRemovals = DeferredRemovals()
    let closedWriters = ClosedWriters()
    let catalogSyncs = CatalogSyncs()
    let splits = SplitWaiters()
    let debouncer: Debouncer
    let mappingWatches = AdaptiveMutex(MappingWatches())
    /// Counts the changes from the provider's side.
    private let news = Atomic<UInt64>(0)
    let kernel: any KernelNotifying
    let backing: any BackingRegistering

    var catalog: Catalog { mount.catalog }
    var times: SyncTimes { mount.times }

    package init(engine: SyncEngine, kernel: any KernelNotifying, backing: any BackingRegistering) {
        self.engine = engine
        self.mount = engine.mount
        self.kernel = kernel
        self.backing = backing
        debouncer = Debouncer(workers: engine.mount.workers)
        mount.attach(self)
        startRecordingClosedWriters()
        mount.catalog.carry(closedWriters)
    }

    /// Runs a call; if a listing is missing, the answer is to wait for that.
    func answer<T>(_ body: () throws -> Outcome<T>) throws(VolumeError) -> Outcome<T> {
        do { return try body() } catch {
            if let error = error as? CatalogError, case .incomplete(let inode) = error.code {
                return waitForBytes(of: inode)
            }
            guard let folder = VolumeError.needsListing(error) else { throw VolumeError(error) }
            return .wait(Wait(limit: times.longestListing) { [engine] in try await engine.enumerate(folder) })
        }
    }

    /// A moment in the sequence of the provider's changes. A row that was read from the catalog before another moment
    /// may be old, and the kernel, which did not know the node when it was told of the change, would keep it for ever.
    package var moment: UInt64 { news.load(ordering: .sequentiallyConsistent) }

    /// Called before the kernel is told of a change.
    func momentPasses() { news.add(1, ordering: .sequentiallyConsistent) }

    func node(_ id: NodeID) throws(VolumeError) -> Node {
        guard let node = table[id] else { throw VolumeError(ESTALE, "the kernel named an unknown node") }
        return node
    }

    func inode(_ id: NodeID) throws(VolumeError) -> InodeID {
        guard let inode = table.inode(of: id) else { throw VolumeError(ESTALE, "the kernel named an unknown node") }
        return inode
    }

    func check(_ name: Filename) throws(VolumeError) {
        if name.bytes.count > 255 { throw VolumeError(ENAMETOOLONG, "\(name): the name is longer than 255 bytes") }
    }

    // MARK: Starting and ending

    /// Repairs what a killed daemon left: marks of writers, unlinked files, files without a row. Called before the
    /// first request.
    ///
    /// - Parameter boot: tells this boot of the machine from all others; nil: unknown, and the machine is taken to have
    ///   been on all the time.
    package func recover(boot: String? = nil) throws(VolumeError) {
        do {
            let before = try boot == nil ? nil : catalog.read { try $0.bootInUse() }
            // Asked before a writer's marks are taken for changes.
            let isOtherBoot = before != nil && before != boot
            let synced = try isOtherBoot ? catalog.read { try $0.synced() } : [:]
            // Only the files in the store are asked for: a catalog may have a million more.
            try catalog.read { reader in try mount.store.restoreSetAside { try reader.isCurrent($0) } }
            // Writers first: recovering one may give an inode its only name.
            for inode in try catalog.read({ try $0.inodesBeingWritten() }) {
                try recoverWriter(inode, isOtherBoot: isOtherBoot)
            }
            if isOtherBoot { try distrust(besides: synced) }
            for inode in try catalog.read({ try $0.orphans() }) { reclaim(inode) }
            let unknown = try catalog.read { reader in
                try mount.store.cleanUp(highest: reader.highestInode().rawValue) { try reader.isCurrent($0) }
            }
            for path in unknown {
                mount.logger.error(
                    "bytes that the catalog does not know are put aside; run hydrant rescue to copy them under their names",
                    metadata: ["path": "\(path)"])
            }
            try mount.labels.begin(catalog)
            try catalog.write { writer in
                try writer.forgetSyncedThatWereSent()
                if isOtherBoot { try writer.distrustNameIndex() }
                if let boot { try writer.noteBoot(boot) }
            }
            if boot != nil { try catalog.synchronize() }
        } catch {
            throw VolumeError(error)
        }
    }

    /// A writer was at work when the daemon was killed: its changes are pending from now on.
    private func recoverWriter(_ inode: InodeRecord, isOtherBoot: Bool) throws {
        let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        let now = BackingStamp(mount.store.status(id))
        // A mapping may outlive the daemon as well.
        let mapped = inode.extents == nil && mount.store.isWritable(id) ? now : nil
        try catalog.write { writer in
            switch inode.writing {
            case .maybeModified(let stamp) where now == nil || stamp == now || stamp == .none: break
            // The last change of a mere label may not have reached the disk.
            case .maybeModified(let stamp)
            where isOtherBoot && stamp.size == now?.size && stamp.modified == now?.modified: break
            case .modified where try now?.size ?? inode.size == inode.size && writer.takeBackUnwritten(inode.id): break
            default:
                try writer.recordWritten(
                    inode.id, size: now?.size ?? inode.size, modified: now?.modified ?? inode.modified, mark: .modified,
                    settle: 0)
            }
            try writer.endWriting(inode.id, settle: 0, defaults: mount.defaults, mapped: mapped)
        }
        if mapped != nil { watchMapping(of: inode.id, generation: inode.generation) }
    }
}

extension Catalog.Reader {
    /// Whether a file is the current generation of a document's contents.
    fileprivate func isCurrent(_ id: GenerationID) throws -> Bool {
        try generation(of: InodeID(rawValue: id.inode)) == id.number
    }
}
