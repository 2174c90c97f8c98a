package import ContentStore
package import FileProvider
package import ItemCatalog
import Locking
package import Logging
import Synchronization
package import Trees

/// The shared parts that the engine's other parts work with.
package final class SyncContext: Sendable {
    package let client: StoreClient
    package let catalog: Catalog
    package let store: ContentStore
    package let times: SyncTimes
    package let defaults: PlaceholderDefaults
    package let logger: Logger
    package let workers: Workers
    package let labels: ContentLabels
    package let room: DiskRoom
    let downloadSyncer: DownloadSyncer
    /// Nothing is sent to the store; pending changes stay pending.
    package let isReadOnly: Bool
    /// The provider signals its changes; no polling is needed.
    let followsChanges: Bool
    let opened = OpenedDocuments()
    package let events = EventLog()
    package let transfers: Transfers
    package let downloadFailures = DownloadFailures()
    package let policy = DownloadPolicy()
    package let pause: PauseSwitch
    let ownChanges = OwnChanges()
    let creations = RecentCreations()
    let listingMemory: ListingMemory
    package let refused = RefusedEntries()
    package let given: GivenThumbnails
    let copies = CopySources()
    let sentByOthers = SentByOthers()
    let loneFailures = LoneFailures()
    private let masked = Atomic(false)
    let repeatedConflicts = RepeatedConflicts()
    /// Held by each eviction; true once no further eviction may begin.
    let evictions = AdaptiveMutex(false)
    /// How full the store is, as the provider last said.
    let storeUse = AdaptiveMutex<StoreQuota?>(nil)
    package var connection: StoreConnection { client.connection }
    private struct Durable {
        var moment = FileTime(nanoseconds: 0)
        /// When the clock is set back, `moment` no longer tells what came first.
        var clock = WallClock(tolerance: Durable.tolerance)
        static let tolerance = 0.001
    }
    private let durable = AdaptiveMutex(Durable())
    private let held = AdaptiveMutex<[ItemIdentifier: Int]>([:])

    private struct WeakVolume: Sendable { weak var volume: (any VolumeObserving)? }
    private let observer = AdaptiveMutex(WeakVolume())
    private let afterCommit = Callback<(changes: [CatalogChange], concernsStore: Bool)>()
    private let activity = Callback<Void>()
    private let rechecks = Callback<(ChangeSignal, SyncError?)>()
    let refusals = Callback<InodeID>()

    package init(
        provider: any FileProviderExtension, catalog: Catalog, store: ContentStore, times: SyncTimes,
        defaults: PlaceholderDefaults, cache: CacheLimits = .none, isReadOnly: Bool = false, logger: Logger,
        ticker: any Ticking = MachineTicker(), workers: Workers? = nil
    ) {
        self.catalog = catalog
        self.store = store
        self.times = times
        self.defaults = defaults
        self.isReadOnly = isReadOnly
        self.logger = logger
        let workers = workers ?? Workers(threads: 16)
        self.workers = workers
        client = StoreClient(provider, events: events, workers: workers, logger: logger)
        followsChanges = client.signalsChanges
        self.listingMemory = ListingMemory(workers: workers, catalog: catalog)
        self.labels = ContentLabels(store: store, logger: logger)
        self.room = DiskRoom(store: store, limits: cache)
        self.downloadSyncer = DownloadSyncer(catalog: catalog, store: store, logger: logger)
        self.transfers = Transfers(ticker: ticker)
        self.pause = PauseSwitch(catalog)
        self.given = GivenThumbnails(directory: store.directory, logger: logger)
        catalog.observe(self)
    }

    static let signedOut = FileProviderError(.notAuthenticated, "the user has signed out")

    /// The user has signed out: no document is found, opened, downloaded or sent.
    package var isMasked: Bool {
        get { masked.load(ordering: .relaxed) }
        set { masked.store(newValue, ordering: .relaxed) }
    }

    /// Whether thumbnails that programs give to documents go to the store.
    package var keepsThumbnails: Bool {
        !isReadOnly && client.keepsThumbnails
    }

    /// Set once, before the first request.
    package func attach(_ volume: any VolumeObserving) { observer.withLock { $0.volume = volume } }

    var volume: (any VolumeObserving)? { observer.withLock { $0.volume } }

    /// Called at each commit that made something stale in the kernel or that concerns the store. Set once; must not
    /// block.
    func onCommit(_ body: @escaping @Sendable (_ changes: [CatalogChange], _ concernsStore: Bool) -> Void) {
        afterCommit.set { body($0.changes, $0.concernsStore) }
    }

    /// Called when something may have happened to an item, here or in the store. Set once; must not block.
    func onActivity(_ body: @escaping @Sendable () -> Void) { activity.set(body) }

    func isActive() { activity() }

    /// Waits a moment after a start whose catalog has something to show, so that the first program to look comes first.
    /// Does not wait when the store signals changes: none may be missed.
    ///
    /// - Returns: false when the task is cancelled.
    func waitsForFirstLook() async -> Bool {
        if followsChanges || times.firstLook == 0 { return true }
        let isKnown = (try? catalog.read { try $0.inode(.root).isEnumerated }) ?? false
        if isKnown { try? await Task.sleep(for: .seconds(times.firstLook)) }
        return !Task.isCancelled
    }

    /// Called with each signal that must be asked for again. Set once; must not block.
    func onRecheck(_ body: @escaping @Sendable (ChangeSignal, SyncError?) -> Void) {
        rechecks.set { body($0.0, $0.1) }
    }

    /// Asks for the signal again: it is not known yet what changed in the store.
    func recheck(_ signal: ChangeSignal, _ error: SyncError? = nil) { rechecks((signal, error)) }

    /// Called with each document whose download a program was refused. Set once; must not block.
    package func onRefusal(_ body: @escaping @Sendable (InodeID) -> Void) { refusals.set(body) }

    /// Sets disk space aside for the catalog, so that the catalog can be written when the disk is full.
    func reserveRoom() { catalog.reserveRoom(room.reserve) }

    /// Opens the bytes of a document's current generation and gives the file the size in the record. Call it only while
    /// holding the document's node: an old record would cut off what a program has appended since.
    ///
    /// - Parameter forProgram: one of a program's descriptors stands for the file.
    package func open(_ record: InodeRecord, forProgram: Bool = false) throws(ContentError) -> ContentFile {
        try store.open(
            GenerationID(inode: record.id.rawValue, number: record.generation), size: record.size,
            isAhead: record.writing != nil, baseSize: record.baseSize, present: record.extents, forProgram: forProgram)
    }

    /// Opens the bytes of a document's current generation, and returns the record used. For callers without the node.
    ///
    /// Runs while nobody writes to the catalog: a new writer must mark the document there before its first byte. A
    /// writer that marked it earlier has the file open, and all opens share one file.
    package func openCurrent(_ id: InodeID) throws -> (inode: InodeRecord, content: ContentFile) {
        let opened: Result<(InodeRecord, ContentFile), ContentError> = try catalog.readInTurn { reader in
            let inode = try reader.inode(id)
            do throws(ContentError) { return .success((inode, try open(inode))) } catch { return .failure(error) }
        }
        return try opened.get()
    }

    // MARK: Held items

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

    /// Makes commits up to `moment` survive a power loss: a document to be deleted in the store may be the last copy of
    /// bytes that moved elsewhere here.
    func makeDurable(_ moment: FileTime) throws(CatalogError) {
        let isDurable = durable.withLock { durable in
            if durable.clock.wasSetBack() { durable.moment = FileTime(nanoseconds: 0) }
            return durable.moment >= moment.adding(seconds: Durable.tolerance)
        }
        if isDurable { return }
        let now = FileTime.now
        try catalog.synchronize()
        durable.withLock { durable in
            // (If the clock was set back during the sync, the next call syncs again.)
            if !durable.clock.wasSetBack() { durable.moment = max(durable.moment, now) }
        }
    }

    /// The path of an inode for people; empty when the inode has no name any more.
    package func path(of inode: InodeID) -> String {
        let names = (try? catalog.read { try $0.path(of: inode) }) ?? nil
        return (names ?? []).map(\.string).joined(separator: "/")
    }

    /// The path of an item for a log line.
    func path(of item: ItemRecord) -> String {
        guard let inode = item.inode, let names = try? catalog.read({ try $0.path(of: inode) }) else {
            return (item.local ?? item.remote ?? item.base ?? item.attempted)?.name.string ?? item.id.description
        }
        return names.map(\.string).joined(separator: "/")
    }
}

/// A commit publishes: the volume, kernel, events and queues learn of it here, and nowhere else.
extension SyncContext: CommitObserver {
    package func begins(_ transaction: TreeTransaction) {
        transaction.linkContents = { [store, unowned transaction] from, generation, to in
            let new = GenerationID(inode: to.rawValue, number: 1)
            try store.link(GenerationID(inode: from.rawValue, number: generation), to: new)
            transaction.linked.append(to)
        }
    }

    package func failed(_ transaction: TreeTransaction) {
        // The next inode may get the same number and must not find another inode's bytes.
        for inode in transaction.linked { store.remove(GenerationID(inode: inode.rawValue, number: 1)) }
    }

    package func committed(_ transaction: TreeTransaction) {
        let changes = transaction.changes
        if !changes.isEmpty { volume?.catalogChanged(changes) }
        for case .conflict(let copy) in changes {
            tellConflict(copy, at: path(of: copy), "the store has another version; what was written here is kept")
        }
        if transaction.concernsStore || !changes.isEmpty { afterCommit((changes, transaction.concernsStore)) }
    }
}

extension SyncedContents {
    /// The catalog's note of a file that was synced; nil when the file was written meanwhile.
    package init?(_ id: GenerationID, _ file: ContentStat?) {
        guard let file else { return nil }
        self.init(generation: id.number, size: file.size, modified: file.modified)
    }
}
