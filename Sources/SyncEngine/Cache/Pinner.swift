import FileProvider
import ItemCatalog
import Logging
import Trees

/// Downloads pinned items that are not here: at once, after every change that may concern them, and again until it
/// works.
///
/// There is no work list to lose: the catalog is asked for missing items.
actor Pinner {
    private let mount: MountState
    private let client: StoreClient
    private let switches: SyncSwitches
    private let fetcher: FolderFetcher
    private let downloader: Downloader
    private var waiting: [Work] = []
    private var running: [InodeID: Task<Void, Never>] = [:]
    private var failures: [InodeID: (count: Int64, until: ContinuousClock.Instant)] = [:]
    private var timer: Task<Void, Never>?
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation
    private static let mostAtOnce = 3

    private enum Work {
        case list(InodeID)
        case download(InodeID)
        var inode: InodeID {
            switch self {
            case .list(let inode), .download(let inode): inode
            }
        }
    }

    init(mount: MountState, client: StoreClient, switches: SyncSwitches, fetcher: FolderFetcher, downloader: Downloader)
    {
        self.mount = mount
        self.client = client
        self.switches = switches
        self.fetcher = fetcher
        self.downloader = downloader
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// A pinned item may be missing. Never blocks; from any thread.
    nonisolated func wake() { waker.yield() }

    /// A user asked just now: retries failed downloads at once.
    func retryNow() {
        failures = [:]
        wake()
    }

    /// `hydrant pause`: aborts running downloads that nobody waits for.
    func pause() {
        for task in running.values { task.cancel() }
    }

    /// Runs until its task is cancelled.
    ///
    /// - Parameter poll: called at intervals with every folder that has pinned items, where the store signals nothing.
    func run(poll: @escaping @Sendable (InodeID) async -> Void) async {
        let isPolled = !client.signalsChanges
        var polled: ContinuousClock.Instant?
        let seconds = mount.times.poll
        let ticker = Task { [waker, clock = mount.clock] in
            while (try? await clock.sleep(for: .seconds(seconds))) != nil { waker.yield() }
        }
        wake()
        for await _ in wakes {
            if Task.isCancelled { break }
            let started = mount.clock.now
            findMissing()
            // With a connection for signals as rarely as the folders that programs look at.
            let rest = client.hasConnectedSignals ? seconds * Double(ChangeListener.pollsPerConnectedPoll) : 0
            if isPolled, polled.map({ $0 + .seconds(rest) <= started }) ?? true {
                polled = started
                for folder in (try? mount.catalog.read { try $0.foldersOfPinned() }) ?? [] { await poll(folder) }
            }
            // Leaves time for the work itself where much is pinned and much changes.
            try? await Task.sleep(for: max(.milliseconds(100), started.duration(to: mount.clock.now) * 3))
        }
        ticker.cancel()
        timer?.cancel()
        for task in running.values { task.cancel() }
    }

    /// Looks for missing items.
    private func findMissing() {
        downloader.recordNow()
        do {
            guard try mount.catalog.read({ try $0.hasPins() }) else {
                waiting = []
                return
            }
            let (folders, documents) = try mount.catalog.read {
                (try $0.unlistedPinnedFolders(), try $0.missingPinned())
            }
            waiting = folders.map { .list($0) } + documents.map { .download($0.inode) }
            // Work is taken from the end.
            waiting.reverse()
            let wanted = Set(waiting.map(\.inode))
            failures = failures.filter { wanted.contains($0.key) }
            startWork()
        } catch {
            mount.logger.error("cannot look for pinned items", metadata: ["error": "\(error)"])
        }
    }

    private func startWork() {
        if switches.pause.isOn { return }
        let moment = mount.clock.now
        while running.count < Self.mostAtOnce, let next = waiting.popLast() {
            if running[next.inode] != nil { continue }
            if let failure = failures[next.inode], failure.until > moment { continue }
            running[next.inode] = Task(executorPreference: mount.workers) { [self] in
                await ended(next, await failure(of: next))
            }
        }
        wakeLater(after: moment)
    }

    /// Why the work failed; nil when it succeeded.
    private nonisolated func failure(of work: Work) async -> SyncError? {
        do {
            switch work {
            case .list(let folder): try await fetcher.fetch(folder, joining: true)
            case .download(let document): _ = try await downloader.downloadWhole(document)
            }
            return nil
        } catch {
            return error
        }
    }

    private func ended(_ work: Work, _ failure: SyncError?) {
        running[work.inode] = nil
        if Task.isCancelled { return }
        switch failure {
        // If the item is still missing (the catalog could not be written, for example), do not retry at once.
        case nil: failures[work.inode] = (0, mount.clock.now + .seconds(mount.times.firstRetry))
        case .some(let failure):
            var code: FileProviderError.Code?
            if case .provider(let error) = failure { code = error.code }
            let count = failures[work.inode]?.count ?? 0
            let seconds = RetryDelay.seconds(after: count, code, mount.times)
            failures[work.inode] = (count + 1, mount.clock.now + .seconds(seconds))
            let next = FailureTable.next(sending: code?.description, inSeconds: seconds)
            mount.logger.warning(
                "cannot download a pinned item",
                metadata: ["item": "\(mount.path(of: work.inode))", "error": "\(failure)", "next": "\(next)"])
        }
        // A new folder has new documents in it; after the last document, more may be missing.
        if case .list = work { wake() } else if waiting.isEmpty && running.isEmpty { wake() }
        startWork()
    }

    /// Plans the retry of failed work.
    private func wakeLater(after moment: ContinuousClock.Instant) {
        timer?.cancel()
        guard let next = failures.values.map(\.until).filter({ $0 > moment }).min() else { return }
        timer = Task { [waker, clock = mount.clock] in
            if (try? await clock.sleep(until: next + .milliseconds(1))) != nil { waker.yield() }
        }
    }
}
