package import ContentStore
package import FileProvider
package import ItemCatalog
import Locking
package import Logging
import Synchronization
package import Trees

/// What every part of the engine works with.
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
    /// Nothing is sent; what is pending stays so.
    package let isReadOnly: Bool
    /// The provider says when something changes; nobody need look.
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
    /// Held by each eviction; true once none may begin any more.
    let evictions = AdaptiveMutex(false)
    /// How full the store is, as it said last.
    let storeUse = AdaptiveMutex<StoreQuota?>(nil)
    package var connection: StoreConnection { client.connection }
    private struct Durable {
        var moment = FileTime(nanoseconds: 0)
        /// Of a clock that was set back since, no moment says what came first.
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

    /// The user has signed out: nothing more is found, opened, downloaded or sent.
    package var isMasked: Bool {
        get { masked.load(ordering: .relaxed) }
        set { masked.store(newValue, ordering: .relaxed) }
    }

    /// The store gets the pictures that programs give documents.
    package var keepsThumbnails: Bool {
        !isReadOnly && client.keepsThumbnails
    }

    /// Set once, before the first request.
    package func attach(_ volume: any VolumeObserving) { observer.withLock { $0.volume = volume } }

    var volume: (any VolumeObserving)? { observer.withLock { $0.volume } }

    /// Told of each commit that made something stale in the kernel or that concerns the store. Set once; must not block.
    func onCommit(_ body: @escaping @Sendable (_ changes: [CatalogChange], _ concernsStore: Bool) -> Void) {
        afterCommit.set { body($0.changes, $0.concernsStore) }
    }

    /// Told when something may have happened to an item, here or in the store. Set once; must not block.
    func onActivity(_ body: @escaping @Sendable () -> Void) { activity.set(body) }

    func isActive() { activity() }

    /// After a start with a catalog that has something to show: a moment later, for whoever looks at once. What a store
    /// says by itself is not to be missed meanwhile.
    ///
    /// - Returns: false when the task is cancelled.
    func waitsForFirstLook() async -> Bool {
        if followsChanges || times.firstLook == 0 { return true }
        let isKnown = (try? catalog.read { try $0.inode(.root).isEnumerated }) ?? false
        if isKnown { try? await Task.sleep(for: .seconds(times.firstLook)) }
        return !Task.isCancelled
    }

    /// Told what has to be asked for again. Set once; must not block.
    func onRecheck(_ body: @escaping @Sendable (ChangeSignal, SyncError?) -> Void) {
        rechecks.set { body($0.0, $0.1) }
    }

    /// What the store has changed there could not be found out now; it is asked for again.
    func recheck(_ signal: ChangeSignal, _ error: SyncError? = nil) { rechecks((signal, error)) }

    /// Told of each document that a program wanted to open and may not have downloaded. Set once; must not block.
    package func onRefusal(_ body: @escaping @Sendable (InodeID) -> Void) { refusals.set(body) }

    /// Sets some of the disk aside for the catalog, so that it can be written when the disk is full.
    func reserveRoom() { catalog.reserveRoom(room.reserve) }

    /// The bytes of a document's current generation, which get the size that the record says. Only for who holds the
    /// document's node: others may have an old record, and would cut off what a program has appended since.
    ///
    /// - Parameter forProgram: one of a program's descriptors is to stand for it.
    package func open(_ record: InodeRecord, forProgram: Bool = false) throws(ContentError) -> ContentFile {
        try store.open(
            GenerationID(inode: record.id.rawValue, number: record.generation), size: record.size,
            isAhead: record.writing != nil, baseSize: record.baseSize, present: record.extents, forProgram: forProgram)
    }

    /// The bytes of a document's current generation, and the record that they were opened by, for everybody else.
    ///
    /// While nobody writes to the catalog, for which a new writer waits before its first byte: it marks the document first.
    /// One that has marked it before has the file open, and opens share one file.
    package func openCurrent(_ id: InodeID) throws -> (inode: InodeRecord, content: ContentFile) {
        let opened: Result<(InodeRecord, ContentFile), ContentError> = try catalog.readInTurn { reader in
            let inode = try reader.inode(id)
            do throws(ContentError) { return .success((inode, try open(inode))) } catch { return .failure(error) }
        }
        return try opened.get()
    }

    // MARK: Held

    /// The store's bytes of an item are still wanted: until ``release(_:)`` they are neither deleted nor replaced.
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

    /// Returns when what was committed up to `moment` survives power loss: what is deleted in the store may be all that
    /// is left of something that went elsewhere here.
    func makeDurable(_ moment: FileTime) throws(CatalogError) {
        let isDurable = durable.withLock { durable in
            if durable.clock.wasSetBack() { durable.moment = FileTime(nanoseconds: 0) }
            return durable.moment >= moment.adding(seconds: Durable.tolerance)
        }
        if isDurable { return }
        let now = FileTime.now
        try catalog.synchronize()
        durable.withLock { durable in
            // (Set back while it was synced: the next one does it again.)
            if !durable.clock.wasSetBack() { durable.moment = max(durable.moment, now) }
        }
    }

    /// The path of an inode for people; empty when it has none any more.
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

/// A commit publishes: volume, kernel, events and queues learn of it here, and nowhere else.
extension SyncContext: CommitObserver {
    package func begins(_ transaction: TreeTransaction) {
        transaction.linkContents = { [store] from, generation, to in
            let new = GenerationID(inode: to.rawValue, number: 1)
            try store.link(GenerationID(inode: from.rawValue, number: generation), to: new)
            transaction.linked.append(to)
        }
    }

    package func failed(_ transaction: TreeTransaction) {
        // The next inode gets the same number, and must not find the bytes of another there.
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
    /// What the catalog notes of a file that was synced; nil when it was written meanwhile.
    package init?(_ id: GenerationID, _ file: ContentStat?) {
        guard let file else { return nil }
        self.init(generation: id.number, size: file.size, modified: file.modified)
    }
}
