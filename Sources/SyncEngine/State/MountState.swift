package import ContentStore
package import FileProvider
package import ItemCatalog
import Locking
package import Logging
package import Trees

/// The state of one mount on this machine: the catalog, the bytes, and what every part of the engine and the volume
/// needs to work with them.
package final class MountState: Sendable {
    package let catalog: Catalog
    package let store: ContentStore
    package let times: SyncTimes
    package let defaults: PlaceholderDefaults
    /// Nothing is sent to the store; pending changes stay pending.
    package let isReadOnly: Bool
    package let logger: Logger
    package let workers: Workers
    package let clock: any EngineClock
    package let labels: ContentLabels
    package let room: DiskRoom
    let downloadSyncer: DownloadSyncer
    private let held = AdaptiveMutex<[ItemIdentifier: Int]>([:])
    private struct WeakVolume: Sendable { weak var volume: (any VolumeObserving)? }
    private let observer = AdaptiveMutex(WeakVolume())

    package init(
        catalog: Catalog, store: ContentStore, times: SyncTimes, defaults: PlaceholderDefaults,
        cache: CacheLimits = .none, isReadOnly: Bool = false, logger: Logger, clock: any EngineClock = MachineClock(),
        workers: Workers? = nil
    ) {
        self.catalog = catalog
        self.store = store
        self.times = times
        self.defaults = defaults
        self.isReadOnly = isReadOnly
        self.logger = logger
        self.clock = clock
        self.workers = workers ?? Workers(threads: 16)
        labels = ContentLabels(store: store, logger: logger)
        room = DiskRoom(store: store, limits: cache)
        downloadSyncer = DownloadSyncer(catalog: catalog, store: store, logger: logger)
    }

    /// Set once, before the first request.
    package func attach(_ volume: any VolumeObserving) { observer.withLock { $0.volume = volume } }

    var volume: (any VolumeObserving)? { observer.withLock { $0.volume } }

    /// Sets disk space aside for the catalog, so that the catalog can be written when the disk is full.
    func reserveRoom() { catalog.reserveRoom(room.reserve) }

    /// How much of the disk the documents use now.
    package func cacheUse() throws -> CacheUse { try CacheUse(catalog, store) }

    /// Waits a moment after a start whose catalog has something to show, so that the first program to look comes first.
    /// Does not wait when the store signals changes: none may be missed.
    ///
    /// - Returns: false when the task is cancelled.
    func waitsAfterStart(_ client: StoreClient) async -> Bool {
        if client.signalsChanges || times.firstLook == 0 { return true }
        let isKnown = (try? catalog.read { try $0.inode(.root).isEnumerated }) ?? false
        if isKnown { try? await clock.sleep(for: .seconds(times.firstLook)) }
        return !Task.isCancelled
    }

    // MARK: Bytes

    /// Opens the bytes of a document's current generation and gives the file the size in the record. Call it only while
    /// holding the document's node: an old record would cut off what a program has appended since.
    ///
    /// - Parameter forProgram: one of a program's descriptors stands for the file.
    package func open(_ record: InodeRecord, forProgram: Bool = false) throws(ContentError) -> ContentFile {
        try store.open(
            GenerationID(inode: record.id.rawValue, number: record.generation), size: record.size,
            isAhead: record.writing != nil, baseSize: record.baseSize, present: record.extents, forProgram: forProgram)
    }

    /// Opens the bytes of a document's current generation, and returns the record used: for callers without the node, and
    /// for those whose record may be older than the last recorded download.
    ///
    /// Runs while nobody writes to the catalog: a new writer must mark the document there before its first byte. A
    /// writer that marked it earlier has the file open, and all opens share one file.
    package func openCurrent(
        _ id: InodeID, forProgram: Bool = false
    ) throws -> (inode: InodeRecord, content: ContentFile) {
        let opened: Result<(InodeRecord, ContentFile), ContentError> = try catalog.readInTurn { reader in
            let inode = try reader.inode(id)
            do throws(ContentError) {
                return .success((inode, try open(inode, forProgram: forProgram)))
            } catch { return .failure(error) }
        }
        return try opened.get()
    }

    /// The store's bytes of an item are still needed: until ``release(_:)`` they are neither deleted nor replaced.
    package func hold(_ identifier: ItemIdentifier) { held.withLock { $0[identifier, default: 0] += 1 } }

    package func release(_ identifier: ItemIdentifier) {
        held.withLock { held in
            let left = held[identifier, default: 1] - 1
            held[identifier] = left > 0 ? left : nil
        }
    }

    func isHeld(_ identifier: ItemIdentifier?) -> Bool {
        identifier.map { identifier in held.withLock { $0[identifier] != nil } } ?? false
    }

    // MARK: Labels

    /// Renews the label after a change that made it wrong; a failure is left to the next change.
    package func relabel(_ inode: InodeID?) {
        guard let inode else { return }
        do {
            let isSettled = try catalog.read { reader in
                try reader.inodeIfPresent(inode).map { try labels.isSettled($0, in: reader) } ?? true
            }
            if isSettled { return }
            try catalog.write { try relabel(inode, in: $0) }
        } catch {
            logger.warning("cannot label modified content", metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
    }

    /// Renews the label in the transaction that makes it wrong.
    func relabel(_ inode: InodeID?, in writer: Catalog.Writer) throws {
        guard let record = try inode.flatMap(writer.inodeIfPresent) else { return }
        _ = try labels.updateMarked(record, in: writer)
    }

    // MARK: Paths for people

    /// The path of an inode; empty when the inode has no name any more.
    package func path(of inode: InodeID) -> String {
        let names = (try? catalog.read { try $0.path(of: inode) }) ?? nil
        return (names ?? []).map(\.string).joined(separator: "/")
    }

    /// A program's bytes are in a partial document: they become durable in the background, like a download's.
    package func extentsGrew() { downloadSyncer.added() }

    /// The path of an item for a log line.
    func path(of item: ItemRecord) -> String {
        guard let inode = item.inode, let names = try? catalog.read({ try $0.path(of: inode) }) else {
            return (item.local ?? item.remote ?? item.base ?? item.attempted)?.name.string ?? item.id.description
        }
        return names.map(\.string).joined(separator: "/")
    }

    /// The path of an item by the provider's identifier, for an event.
    func path(of identifier: ItemIdentifier) -> String? {
        let item = try? catalog.read { try $0.item(identifiedBy: identifier) }
        return item.flatMap { $0 }.map { path(of: $0) }
    }
}

extension SyncedContents {
    /// The catalog's note of a file that was synced; nil when the file was written meanwhile.
    ///
    /// - Parameter present: the provider's bytes that were here before the sync; nil: all.
    package init?(_ id: GenerationID, _ file: ContentStat?, present: RangeSet<Int64>?) {
        guard let file else { return nil }
        self.init(
            generation: id.number, size: file.size, modified: file.modified, durable: DurableRanges(present))
    }

    /// Whether nobody has written to the file since.
    package func isState(of id: GenerationID, _ file: ContentStat?) -> Bool {
        guard let file else { return false }
        return (generation, size, modified) == (id.number, file.size, file.modified)
    }
}
