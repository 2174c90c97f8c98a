package import ContentStore
package import FileProvider
package import ItemCatalog
import Locking
package import Logging
package import Trees

/// Everything between the local trees and the provider.
package final class SyncEngine: Sendable {
    package let mount: MountState
    package let client: StoreClient
    package let reports: EventReports
    package let switches: SyncSwitches
    package let transfers: Transfers
    package let downloadFailures = DownloadFailures()
    package let given: GivenThumbnails
    let remote: RemoteState
    let uploads: UploadState
    package let publisher: CommitPublisher
    package let downloader: Downloader
    package let readAhead: ReadAhead
    let fetcher: FolderFetcher
    private let walks: ListingPrefetcher
    let queue: UploadQueue
    private let listener: ChangeListener
    private let stopper: StopScheduler
    private let probe: ReturnProbe
    private let activity = Callback<Void>()
    private let folderListings = Callback<(InodeID, Int32)>()
    package let cache: CacheKeeper
    package let quota: QuotaKeeper
    package let thumbnails: ThumbnailShelf
    private let thumbnailSender: ThumbnailSender
    private let pinner: Pinner
    private let evictor: Evictor
    private let tasks = AdaptiveMutex<[Task<Void, Never>]>([])

    /// Makes the parts of one mount. Begins nothing: ``start()`` does.
    package init(
        provider: any FileProviderExtension, catalog: Catalog, store: ContentStore, times: SyncTimes,
        defaults: PlaceholderDefaults, cache limits: CacheLimits = .none, isReadOnly: Bool = false, logger: Logger,
        clock: any EngineClock = MachineClock(), workers: Workers? = nil
    ) {
        mount = MountState(
            catalog: catalog, store: store, times: times, defaults: defaults, cache: limits, isReadOnly: isReadOnly,
            logger: logger, clock: clock, workers: workers)
        let log = EventLog()
        client = StoreClient(provider, events: log, workers: mount.workers, clock: clock, logger: logger)
        reports = EventReports(mount, log)
        switches = SyncSwitches(catalog)
        transfers = Transfers(clock: clock)
        given = GivenThumbnails(directory: store.directory, logger: logger)
        remote = RemoteState(mount, log)
        uploads = UploadState(catalog, clock)
        publisher = CommitPublisher(mount, reports)
        fetcher = FolderFetcher(mount: mount, client: client, remote: remote, reports: reports)
        walks = ListingPrefetcher(mount: mount, client: client, switches: switches)
        downloader = Downloader(
            mount: mount, client: client, remote: remote, reports: reports, switches: switches, transfers: transfers,
            downloadFailures: downloadFailures, fetcher: fetcher)
        quota = QuotaKeeper(mount: mount, client: client)
        queue = UploadQueue(
            mount: mount, client: client, uploads: uploads, reports: reports, switches: switches,
            runner: StepRunner(
                mount: mount, client: client, remote: remote, uploads: uploads, reports: reports, transfers: transfers,
                given: given, quota: quota, downloader: downloader, fetcher: fetcher))
        listener = ChangeListener(mount: mount, client: client, remote: remote, fetcher: fetcher)
        evictor = Evictor(mount: mount, reports: reports, downloader: downloader)
        stopper = StopScheduler(mount: mount, client: client, evictor: evictor)
        cache = CacheKeeper(mount: mount, client: client, evictor: evictor)
        readAhead = ReadAhead(
            mount: mount, client: client, switches: switches, transfers: transfers, downloader: downloader, cache: cache
        )
        pinner = Pinner(mount: mount, client: client, switches: switches, fetcher: fetcher, downloader: downloader)
        thumbnails = ThumbnailShelf(directory: store.directory)
        thumbnailSender = ThumbnailSender(
            mount: mount, client: client, switches: switches, given: given, shelf: thumbnails)
        remote.onRecheck { [weak listener] signal, error in Task { await listener?.keep(signal, error) } }
        probe = ReturnProbe(mount: mount, client: client)
        client.onAnswer { [weak listener, weak queue, weak thumbnailSender] in
            thumbnailSender?.wake()
            Task {
                await queue?.storeAnswers()
                await listener?.storeAnswers()
            }
        }
        client.onLoss { [weak probe] in Task { await probe?.begin() } }
        publisher.onCommit {
            [weak cache, weak pinner, weak quota, weak thumbnailSender, activity] changes, isOfStore in
            if isOfStore {
                thumbnailSender?.wake()
                // A confirmed upload makes its document evictable.
                cache?.wake()
                quota?.wake()
            }
            activity()
            if changes.contains(where: \.mayNeedDownload) { pinner?.wake() }
        }
    }

    /// Begins to send pending changes and to follow the store's changes.
    package func start() {
        let workers = mount.workers
        mount.reserveRoom()
        tasks.withLock {
            $0 = [
                Task(executorPreference: workers) { [queue, mount] in if !mount.isReadOnly { await queue.run() } },
                Task(executorPreference: workers) { [listener] in await listener.run() },
                Task(executorPreference: workers) { [cache] in await cache.run() },
                Task(executorPreference: workers) { [mount, client] in
                    await RootCapabilities(mount: mount, client: client).run()
                },
                Task(executorPreference: workers) { [quota] in await quota.run() },
                Task(executorPreference: workers) { [thumbnailSender] in await thumbnailSender.run() },
                Task(executorPreference: workers) { [mount] in await mount.downloadSyncer.run() },
                Task(executorPreference: workers) { [pinner, listener] in
                    await pinner.run(poll: { await listener.wasListed($0) })
                },
            ]
        }
    }

    /// Ends the engine's own tasks and releases the provider. Pending changes stay pending.
    ///
    /// - Returns: whether every step has ended; if not, the catalog is still in use and must not be closed.
    @discardableResult
    package func stop() async -> Bool {
        let running = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in running { task.cancel() }
        readAhead.stop()
        downloader.recordNow()
        mount.volume?.endWritingNow()
        queue.wake()
        cache.wake()
        pinner.wake()
        stopper.stop()
        cache.record()
        evictor.stop()
        await probe.end()
        let isIdle = await queue.drain(seconds: 5)
        await client.invalidate()
        return isIdle
    }

    /// Writes to the catalog how far the document has been downloaded. Not under a node's lock.
    package func recordDownload(of inode: InodeID) { downloader.recordNow(inode) }

    /// Writes to the catalog how far all documents have been downloaded, and closes those that were open only for that.
    package func recordAllDownloads() { downloader.recordNow() }

    /// Makes earlier downloads survive a power loss; the log says if that failed.
    package func makeDownloadsDurable() {
        downloader.recordNow()
        mount.downloadSyncer.syncNow()
    }

    /// A program gives a document a thumbnail of the contents that these records describe.
    ///
    /// - Returns: whether the thumbnail, once it survives a restart, goes to the store.
    package func giveThumbnail(
        _ thumbnail: Thumbnail, to item: ItemRecord, _ inode: InodeRecord
    ) throws -> Bool {
        try given.put(thumbnail, item, inode)
        thumbnailSender.wake()
        return thumbnailSender.keepsThumbnails && !item.isExcluded
    }

    /// The user may have signed in again.
    package func credentialMayHaveChanged() async {
        client.credentialMayHaveChanged()
        await probe.now()
    }

    /// Called, often, when something may have happened to an item, here or in the store. Set once; must not block.
    package func onActivity(_ body: @escaping @Sendable () -> Void) { activity.set(body) }

    // MARK: For the volume

    /// Fetches the folder's first listing. The listing is in the catalog on return.
    package func enumerate(_ folder: InodeID) async throws(SyncError) {
        goAhead(of: folder)
        try await fetcher.fetch(folder, joining: true)
    }

    private func goAhead(of folder: InodeID) {
        walks.wasListed(folder) { [fetcher] in
            _ = try? await fetcher.fetch($0, joining: true, isAwaited: false)
        }
    }

    /// Names in listings that cannot be shown.
    package var refused: RefusedEntries { remote.refused }

    /// The provider signals its changes; no polling is needed.
    package var followsChanges: Bool { client.signalsChanges }

    /// Deleted items go to the store's trash.
    package var hasTrash: Bool { client.hasTrash }
    package var keepsFavorites: Bool { client.keepsFavorites }

    /// - Parameter thread: the reading program's thread, as FUSE gives it.
    package func wasListed(_ folder: InodeID, thread: Int32? = nil) {
        if let thread { folderListings((folder, thread)) }
        if client.signalsChanges { return }
        goAhead(of: folder)
        Task { [listener] in await listener.wasListed(folder) }
    }

    /// Called with the folder and the thread when a program has listed a folder. Set once; must not block.
    package func onFolderListed(_ body: @escaping @Sendable (InodeID, Int32) -> Void) {
        folderListings.set { body($0.0, $0.1) }
    }

    /// A program was given this many names of a folder.
    package func listed(names: Int) { remote.listingMemory.listed(names) }

    /// Downloads the range; a program waits for it.
    ///
    /// - Parameter thread: the reading program's thread, as FUSE gives it.
    package func provide(
        _ range: Range<Int64>, of content: ContentFile, for target: DownloadTarget, thread: Int32?
    ) async throws(SyncError) {
        if thread != nil { readAhead.isRead(target.inode, size: content.baseSize) }
        try await downloader.provide(range, of: content, for: target, by: thread.map { .thread($0) })
    }

    /// The document's folder will be polled as if a program had listed it.
    package func wasOpened(_ document: InodeID) {
        readAhead.isOpened(document)
        if !client.signalsChanges { remote.opened.add(document) }
    }

    /// A local change is pending.
    package func changed() {
        queue.changed()
        activity()
        // The change may be a move into a pinned folder.
        pinner.wake()
    }

    /// A program has moved the item. If that undid its local move, a move in the store no longer conflicts, and we ask
    /// for the item again.
    package func wasMoved(_ item: ItemRecord) {
        if item.isMovedRemotelyOnly, let identifier = item.identifier { remote.recheck(.item(identifier)) }
    }

    /// A program has made a change; ``changed()`` follows in a moment, once for many.
    package func willChange() { queue.willChange() }

    /// The last program closed a document.
    package func released(_ inode: InodeID, _ generation: GenerationID) {
        downloader.released(generation)
        cache.used(inode)
        stopper.released(inode)
    }

    // MARK: For the user

    /// Waits until nothing is pending. Returns at once on a read-only mount, which sends nothing.
    ///
    /// - Returns: the items still pending after `timeout` seconds (nil: no limit).
    package func sync(timeout: Double?) async throws(SyncError) -> [ItemRecord] {
        let deadline = timeout.map { ContinuousClock.now + .seconds($0) }
        do {
            if mount.isReadOnly || switches.pause.isOn { return try pending() }
            mount.volume?.endWritingNow()
            try mount.catalog.write { try $0.settleNow(retrying: true) }
            await queue.retryNow()
            while try mount.catalog.read({ try $0.hasPending() }) {
                if Task.isCancelled { throw SyncError.cancelled }
                if let deadline, .now >= deadline { return try pending() }
                if switches.pause.isOn { return try pending() }
                await queue.isAwaited()
                // Include a change that came meanwhile.
                if try mount.catalog.read({ try $0.nextMoment(after: .now) }) != nil {
                    try mount.catalog.write { try $0.settleNow(retrying: false) }
                    queue.wake()
                }
                try? await Task.sleep(for: .milliseconds(50))
            }
            return []
        } catch {
            throw SyncError(error)
        }
    }

    /// The user has signed out: no document is found, opened, downloaded or sent; running uploads are aborted.
    package func mask() async {
        switches.isMasked = true
        await queue.pause()
        await pinner.pause()
    }

    /// Undoes ``mask()`` when the sign-out failed.
    package func unmask() async {
        switches.isMasked = false
        await queue.retryNow()
        await pinner.retryNow()
    }

    /// Stops uploads, and downloads that nobody waits for, until resumed, also across a restart; durable on return.
    /// Reads by programs, and downloads that a user asks for, go on.
    package func setPaused(_ isPaused: Bool) async throws(SyncError) {
        do { try switches.pause.set(isPaused, in: mount.catalog) } catch { throw SyncError(error) }
        if isPaused {
            await queue.pause()
            await pinner.pause()
        } else {
            await queue.retryNow()
            await pinner.retryNow()
            thumbnailSender.wake()
        }
    }

    package func pending() throws -> [ItemRecord] {
        try mount.catalog.read { try $0.pendingForPeople(limit: 1_000) }
    }

    /// Drops the local bytes of an unmodified document that no program uses. Returns the number of bytes.
    package func evict(_ inode: InodeID) throws(SyncError) -> Int64 {
        mount.volume?.endWritingNow()
        downloader.recordNow(inode)
        do { return try evictor.evict(inode).bytes } catch { throw SyncError(error) }
    }

    /// Pins or unpins an item, with everything in it if it is a folder. Missing bytes come in the background.
    package func setPinned(_ item: ItemID, _ isPinned: Bool) async throws(SyncError) {
        do { try mount.catalog.write { try $0.setPinned(item, isPinned) } } catch { throw SyncError(error) }
        if isPinned { await pinner.retryNow() } else { cache.wake() }
    }

    /// Downloads all of a document and records it. Returns the number of bytes that came.
    ///
    /// - Parameter asker: for people: the program that wants the document; nil: not a program's read.
    package func download(_ inode: InodeID, for asker: CausingProcess? = nil) async throws(SyncError) -> Int64 {
        let count = try await downloader.downloadWhole(inode, for: asker)
        downloader.recordNow(inode)
        // The caller is about to use the document: it must not be evicted first.
        if count > 0 { cache.used(inode) }
        return count
    }
}

extension CatalogChange {
    /// Whether the change may add bytes to download.
    fileprivate var mayNeedDownload: Bool {
        switch self {
        case .entry, .contents: true
        default: false
        }
    }
}
