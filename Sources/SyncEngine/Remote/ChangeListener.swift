import FileProvider
import ItemCatalog
import Logging
import Trees

/// Follows the store's changes: by the provider's signals; by asking what changed since an anchor; or, with neither, by
/// polling the folders that programs look at. Where the signals come over a connection, it polls while that is not up,
/// and otherwise only now and then, because a signal may get lost on the way.
///
/// Keeps each question that the store could not answer, or whose item we were just changing, and asks again.
actor ChangeListener {
    private let mount: MountState
    private let client: StoreClient
    private let remote: RemoteState
    private let fetcher: FolderFetcher
    private var waiting: Set<ChangeSignal> = []
    private var isDraining = false
    /// Signals whose question took long, and until when they are not asked again: otherwise we would list a large
    /// folder all the time while many of its documents are changed from here.
    private var resting: [ChangeSignal: ContinuousClock.Instant] = [:]
    private static let long = Duration.seconds(1)
    private static let longestRest = Duration.seconds(30)
    private var isOver = false
    private var schedule: PollingSchedule
    /// Folders to ask for at once, because a program listed them after some time.
    private var urgent: Set<InodeID> = []
    private static let mostUrgent = 32
    private var isAsking = false
    /// The version of the topmost folder when it was last as expected, if the store has versions of whole trees.
    private var version: String?
    private var hasVersions = true
    /// How often in a row it was time to poll while the connection for signals was up.
    private var pollsConnected = 0
    private var isPolling = false
    private var pollsAgain = false
    /// With that connection, one poll in so many takes place.
    static let pollsPerConnectedPoll = 10

    /// Signals to ask for again, and how often each failed.
    private var kept: [ChangeSignal: Int64] = [:]
    private var timer: (task: Task<Void, Never>, end: ContinuousClock.Instant)?
    private var askedAt: ContinuousClock.Instant?
    /// How often in a row the store answered again, but not these questions.
    private var inVain: Int64 = 0
    /// Whether the store has answered again since the last try.
    private var hasReturned = false
    /// More questions than this become one: for everything.
    private static let mostKept = 64

    init(mount: MountState, client: StoreClient, remote: RemoteState, fetcher: FolderFetcher) {
        self.mount = mount
        self.client = client
        self.remote = remote
        self.fetcher = fetcher
        schedule = PollingSchedule(poll: mount.times.poll)
    }

    /// Runs until its task is cancelled.
    func run() async {
        guard await mount.waitsAfterStart(client) else {
            isOver = true
            return
        }
        // Changes from before the mount.
        take(.everything)
        let client = client
        let connected = client.mayConnectSignals ? listen() : nil
        let openings = connected == nil ? nil : watchOpenings()
        defer {
            connected?.cancel()
            openings?.cancel()
        }
        if connected == nil, let signals = client.changeSignals() {
            for await signal in signals { take(signal) }
        }
        // No signals, or no more signals.
        let pause =
            client.signalsChanges && !client.enumeratesChanges
            ? mount.times.poll * 10 : mount.times.poll
        while (try? await mount.clock.sleep(for: .seconds(pause))) != nil {
            if client.enumeratesChanges || client.signalsChanges {
                take(.everything)
            } else if isTimeToPoll() {
                await poll()
            }
        }
        isOver = true
        timer?.task.cancel()
    }

    /// Takes the signals that come over a connection.
    private func listen() -> Task<Void, Never>? {
        guard let signals = client.changeSignals() else { return nil }
        return Task { for await signal in signals { take(signal) } }
    }

    /// Polls each time the connection has come up: it says nothing of what changed before.
    private func watchOpenings() -> Task<Void, Never>? {
        guard !client.enumeratesChanges, let openings = client.signalOpenings() else { return nil }
        return Task {
            for await _ in openings {
                pollsConnected = 1
                await poll()
            }
        }
    }

    /// Also the first time after the connection is seen to be up.
    private func isTimeToPoll() -> Bool {
        guard client.hasConnectedSignals else {
            pollsConnected = 0
            return true
        }
        defer { pollsConnected += 1 }
        return pollsConnected % Self.pollsPerConnectedPoll == 0
    }

    // MARK: Polling

    /// One at a time: a call meanwhile makes it begin anew.
    private func poll() async {
        pollsAgain = true
        if isPolling { return }
        isPolling = true
        while pollsAgain && !isOver {
            pollsAgain = false
            await pollOnce()
        }
        isPolling = false
    }

    private func pollOnce() async {
        var stale: Set<InodeID> = []
        for inode in remote.opened.take() {
            // (The document may have no name any more.)
            guard let folder = (try? mount.catalog.read { try $0.place(of: inode)?.folder }) ?? nil else { continue }
            if schedule.wasListed(folder, at: mount.clock.now) { stale.insert(folder) }
        }
        guard let found = await newVersion() else { return await ask(stale.union(schedule.due(at: mount.clock.now))) }
        if found == version { return await ask(schedule.unknown) }
        schedule.allAreDue()
        version = found
        await ask(schedule.due(at: mount.clock.now))
    }

    /// Nil: the store has no such version, or did not say.
    private func newVersion() async -> String? {
        guard hasVersions else { return nil }
        do {
            let found = try await client.version()
            hasVersions = found != nil
            return found
        } catch { return version }
    }

    private func ask(_ folders: some Sequence<InodeID>) async {
        for folder in folders {
            let moment = mount.clock.now
            do {
                let hasChanged = try await fetcher.fetch(folder, joining: false)
                schedule.polled(folder, at: moment, hasChanged: hasChanged)
            } catch {
                schedule.polled(folder, at: moment, hasChanged: false)
                // Where the version says when to ask, nothing else would ask again.
                guard version != nil, error.mayPass else { continue }
                do {
                    let item = try mount.catalog.read { try $0.item(of: folder) }
                    if let identifier = item?.identifier { keep(.folder(identifier), error) }
                } catch { keep(.everything, SyncError(error)) }
            }
        }
    }

    /// A program looked at a folder: poll the folder.
    func wasListed(_ folder: InodeID) {
        guard schedule.wasListed(folder, at: mount.clock.now), !client.hasConnectedSignals,
            urgent.count < Self.mostUrgent
        else { return }
        urgent.insert(folder)
        if isAsking { return }
        isAsking = true
        Task(executorPreference: mount.workers) { await self.askUrgently() }
    }

    private func askUrgently() async {
        while let folder = urgent.popFirst(), !isOver { await ask([folder]) }
        isAsking = false
    }

    // MARK: Questions to repeat

    /// Repeats the question later: its answer did not come or could not be taken.
    func keep(_ signal: ChangeSignal, _ error: SyncError? = nil) {
        guard !isOver else { return }
        kept[signal, default: 0] += 1
        if kept.count > Self.mostKept {
            // The changes since the anchor do not include what was in doubt before it.
            do {
                try mount.catalog.write { try $0.forgetSyncAnchor() }
                kept = [.everything: kept.values.max() ?? 1]
            } catch {
                mount.logger.error(
                    "cannot record that all folders must be listed again", metadata: ["error": "\(error)"])
            }
        }
        guard timer == nil else { return }
        var code: FileProviderError.Code? = .serverUnreachable
        // An item that we are just changing (`busy`) will soon be free.
        if case .provider(let failure)? = error, failure.code != .busy { code = failure.code }
        let attempts = kept.values.min() ?? 1
        askAgain(in: RetryDelay.seconds(after: attempts - 1, code, mount.times, isAlone: inVain > 0))
    }

    /// The store answers: asks at once. (A store that answers all other questions is asked ever less often.)
    func storeAnswers() {
        guard timer != nil else { return }
        let pause = RetryDelay.seconds(after: inVain, nil, mount.times)
        let waited = askedAt.map { $0.duration(to: mount.clock.now) / .seconds(1) } ?? .infinity
        hasReturned = true
        if waited < pause { askAgain(in: pause - waited) } else { askAgain() }
    }

    /// Does nothing if an earlier try is planned.
    private func askAgain(in seconds: Double) {
        let end = mount.clock.now + .seconds(seconds)
        if let timer, timer.end <= end { return }
        timer?.task.cancel()
        let task = Task { [weak self, clock = mount.clock] in
            if (try? await clock.sleep(until: end)) != nil { await self?.askAgain() }
        }
        timer = (task, end)
    }

    private func askAgain() {
        timer?.task.cancel()
        timer = nil
        if hasReturned { inVain += 1 }
        hasReturned = false
        askedAt = mount.clock.now
        for signal in kept.keys { take(signal) }
    }

    // MARK: Asking

    private func take(_ signal: ChangeSignal) {
        guard !isOver else { return }
        waiting.insert(signal)
        guard !isDraining else { return }
        isDraining = true
        Task(executorPreference: mount.workers) { await self.drain() }
    }

    private func drain() async {
        defer { isDraining = false }
        while !waiting.isEmpty && !isOver {
            let now = mount.clock.now
            resting = resting.filter { $0.value > now }
            var batch = waiting.filter { resting[$0] == nil }
            if batch.isEmpty {
                try? await Task.sleep(for: .milliseconds(400))
                continue
            }
            waiting.subtract(batch)
            if batch.remove(.everything) != nil {
                let error = await everything()
                ended(.everything, error, since: now)
                // `everything` has listed the folders too.
                batch = batch.filter { if case .item = $0 { true } else { false } }
            }
            let started = mount.clock.now
            await withTaskGroup(of: (ChangeSignal, SyncError?).self) { group in
                for signal in batch { group.addTask { (signal, await self.handle(signal)) } }
                for await (signal, error) in group { ended(signal, error, since: started) }
            }
            // Pause between listings of a folder in which much happens (our own uploads, for example).
            let elapsed = started.duration(to: mount.clock.now)
            try? await Task.sleep(for: min(.milliseconds(400), elapsed * 3))
        }
    }

    private func ended(_ signal: ChangeSignal, _ error: SyncError?, since started: ContinuousClock.Instant) {
        let elapsed = started.duration(to: mount.clock.now)
        if error == nil, elapsed > Self.long { resting[signal] = mount.clock.now + min(elapsed * 3, Self.longestRest) }
        guard let error else {
            kept[signal] = nil
            if kept.isEmpty { inVain = 0 }
            return
        }
        mount.logger.debug(
            "cannot ask the store for its changes", metadata: ["signal": "\(signal)", "error": "\(error)"])
        if error.mayPass { keep(signal, error) } else { kept[signal] = nil }
    }

    /// Returns the error for which it is still unknown what changed.
    private nonisolated func handle(_ signal: ChangeSignal) async -> SyncError? {
        do {
            switch signal {
            case .folder(let identifier):
                guard let inode = try mount.catalog.read({ try $0.item(identifiedBy: identifier)?.inode }) else {
                    return nil
                }
                try await fetchIfKnown(inode)
            case .item(let identifier):
                let isKnown = try mount.catalog.read { try $0.item(identifiedBy: identifier) } != nil
                if isKnown {
                    try await RemoteRefresh(mount: mount, client: client, remote: remote, fetcher: fetcher).take(
                        identifier)
                }
            case .everything:
                break
            }
            return nil
        } catch {
            return SyncError(error)
        }
    }

    /// A folder that is not listed yet is fetched when a program first lists it.
    private nonisolated func fetchIfKnown(_ folder: InodeID) async throws {
        let isKnown = try mount.catalog.read { try $0.inodeIfPresent(folder)?.isEnumerated } ?? false
        if isKnown { try await fetcher.fetch(folder, joining: false) }
    }

    // MARK: Everything

    private nonisolated func everything() async -> SyncError? {
        do {
            var anchor: SyncAnchor?
            if client.enumeratesChanges {
                do {
                    anchor = try await ChangeFeed(mount: mount, client: client, remote: remote, fetcher: fetcher)
                        .catchUp()
                    if anchor == nil { return nil }
                } catch {
                    let error = SyncError(error)
                    if error.mayPass { return error }
                    mount.logger.warning(
                        "the provider cannot list its changes: all folders are listed again",
                        metadata: ["error": "\(error)"])
                }
            }
            try await listEverything()
            if let anchor { try mount.catalog.write { try $0.takeSyncAnchor(anchor) } }
            return nil
        } catch {
            return SyncError(error)
        }
    }

    /// Lists every folder that is listed or whose first listing is under way: that listing may have begun before the
    /// anchor was given.
    ///
    /// - Throws: when a question has to be repeated.
    private nonisolated func listEverything() async throws {
        async let root = RootCapabilities(mount: mount, client: client).ask()
        let underWay = await fetcher.foldersUnderWay
        let (listed, others) = try mount.catalog.read { reader in
            (try reader.enumeratedFolders(), try reader.itemsInUnlistedFolders(limit: 10_000))
        }
        let known = Set(listed)
        var questions: [@Sendable () async throws -> Void] = []
        for folder in listed + underWay.filter({ !known.contains($0) }) {
            questions.append { [fetcher] in try await fetcher.fetch(folder, joining: false) }
        }
        for identifier in others {
            questions.append { [mount, client, remote, fetcher] in
                try await RemoteRefresh(mount: mount, client: client, remote: remote, fetcher: fetcher).take(identifier)
            }
        }
        var failure: SyncError?
        await withTaskGroup(of: SyncError?.self) { group in
            func note(_ error: SyncError??) {
                if case .some(.some(let error)) = error, error.mayPass { failure = error }
            }
            for (index, question) in questions.enumerated() {
                if index >= 4 { note(await group.next()) }
                if failure?.isUnreachable == true { break }
                group.addTask {
                    do { try await question() } catch { return SyncError(error) }
                    return nil
                }
            }
            for await error in group { note(error) }
        }
        _ = await root
        if let failure { throw failure }
    }
}

extension SyncError {
    /// Whether the same question may be answered later.
    var mayPass: Bool {
        guard case .provider(let error) = self else { return true }
        let lasting: Set<FileProviderError.Code> = [
            .noSuchItem, .permissionDenied, .invalidName, .unsupported, .readOnly,
        ]
        return !lasting.contains(error.code)
    }

    fileprivate var isUnreachable: Bool {
        if case .provider(let error) = self { error.code == .serverUnreachable } else { false }
    }
}
