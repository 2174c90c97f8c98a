import FileProvider
import ItemCatalog
import Locking
import Synchronization
import Trees

/// Downloads documents ahead of a program that reads a folder's documents one after another (grep, a viewer, a build, a
/// backup), which would otherwise wait a round trip for each document.
///
/// Three small documents close to each other in a folder's order, each of which had to be downloaded, make a run. The
/// number of documents downloaded ahead begins with two and doubles while they are read, up to `mostDocuments`; their
/// bytes are bounded too (`CacheLimits.ahead`), and unread bytes are counted. If all names of a run have one extension
/// (`.jpg`, `.h`), only such documents are downloaded ahead.
package final class ReadAhead: Sendable {
    private struct Run {
        /// The last read document's number in the folder's listing.
        var last: Int64
        var moment: ContinuousClock.Instant
        var length = 1
        /// The number of the last document downloaded ahead.
        var furthest: Int64
        /// Documents after `furthest`, as far as they have been looked up.
        var upcoming: ArraySlice<ListedDocument> = []
        /// The common extension of all names; nil: there is none.
        var ending: [UInt8]?
        var window = 2
        /// Documents begun ahead and not read yet.
        var outstanding = 0
        /// Unique among all runs.
        let id: UInt64
    }
    private struct Begun {
        var folder: InodeID
        /// The run's identifier; the folder may have another run by now.
        var run: UInt64
        var number: Int64
        var moment: ContinuousClock.Instant
        /// Nil: the download is still running.
        var received: Int64?
    }
    private struct State {
        var runs: [InodeID: Run] = [:]
        /// Documents begun ahead that no program has opened yet.
        var begun: [InodeID: Begun] = [:]
        /// Above this number, old entries are dropped.
        var mostBegun = ReadAhead.mostRemembered
        /// Running downloads.
        var running: Set<InodeID> = []
        var tasks: [InodeID: Task<Void, Never>] = [:]
        var underWay: Int64 = 0
        var figures = Figures()
        var runCount: UInt64 = 0
        var isStopped = false
    }
    /// In bytes, since the mount.
    package struct Figures: Sendable {
        package var downloaded: Int64 = 0
        /// The part of `downloaded` that belongs to documents opened afterwards.
        package var used: Int64 = 0
    }

    private let state = AdaptiveMutex(State())
    /// The number of documents begun ahead and not opened, so that other opens need no lock.
    private let waiting = Atomic(0)
    private let mount: MountState
    private let client: StoreClient
    private let switches: SyncSwitches
    private let transfers: Transfers
    private let downloader: Downloader
    private let cache: CacheKeeper

    private static let mostDocuments = 24
    private static let mostAtOnce = 12
    /// A larger document has a read-ahead of its own while it is read.
    private static let largest: Int64 = 1 << 20
    /// Documents this many names apart still count as one after another (a program may read only some).
    private static let stride: Int64 = 16
    private static let patience = Duration.seconds(3)
    /// Above this number, unopened documents older than `memory` are forgotten.
    private static let mostRemembered = 1_000
    private static let memory = Duration.seconds(60)

    init(
        mount: MountState, client: StoreClient, switches: SyncSwitches, transfers: Transfers, downloader: Downloader,
        cache: CacheKeeper
    ) {
        self.mount = mount
        self.client = client
        self.switches = switches
        self.transfers = transfers
        self.downloader = downloader
        self.cache = cache
    }

    package var figures: Figures { state.withLock { $0.figures } }

    // MARK: Programs' reads

    /// A program waits for bytes of a placeholder. Never waits.
    func isRead(_ document: InodeID, size: Int64) {
        // (The download may have begun after the open.)
        isOpened(document)
        guard most > 0, size <= Self.largest, let place = place(of: document) else { return }
        let ending = Self.ending(of: place.name)
        let isRun = state.withLock { state -> Bool in
            forget(&state)
            state.runCount += 1
            let fresh = Run(
                last: place.number, moment: .now, furthest: place.number, ending: ending, id: state.runCount)
            guard var run = state.runs[place.folder] else {
                state.runs[place.folder] = fresh
                return false
            }
            guard run.last != place.number else { return false }
            if abs(place.number - run.last) <= Self.stride {
                run.length += 1
                (run.last, run.moment) = (max(run.last, place.number), .now)
                run.furthest = max(run.furthest, place.number)
                if run.ending != nil, run.ending != ending { (run.ending, run.upcoming) = (nil, []) }
            } else {
                run = fresh
            }
            state.runs[place.folder] = run
            return run.length >= 3
        }
        if isRun { goOn(in: place.folder) }
    }

    /// A program opens a document. Never waits.
    func isOpened(_ document: InodeID) {
        guard waiting.load(ordering: .relaxed) > 0 else { return }
        let folder = state.withLock { state -> InodeID? in
            guard let begun = state.begun.removeValue(forKey: document) else { return nil }
            waiting.store(state.begun.count, ordering: .relaxed)
            state.figures.used += begun.received ?? 0
            guard var run = state.runs[begun.folder], run.id == begun.run else { return nil }
            run.outstanding -= 1
            run.window = min(run.window * 2, Self.mostDocuments)
            (run.last, run.moment) = (max(run.last, begun.number), .now)
            state.runs[begun.folder] = run
            return begun.folder
        }
        if let folder { goOn(in: folder) }
    }

    /// Begins no further download and cancels the running ones.
    func stop() {
        let running = state.withLock { state in
            state.isStopped = true
            return Array(state.tasks.values)
        }
        for task in running { task.cancel() }
    }

    // MARK: Ahead

    /// The most bytes in download ahead; 0 under a bandwidth limit or while the user has paused.
    private var most: Int64 {
        let limits = mount.room.limits
        guard limits.ahead > 0, !switches.pause.isOn, !client.isKnownToBeAway,
            transfers.downloadLimit.piece == nil
        else { return 0 }
        return min(limits.ahead, limits.most.map { $0 / 8 } ?? .max)
    }

    /// The extension with its dot; empty if there is none.
    private static func ending(of name: Filename) -> [UInt8] {
        name.bytes.lastIndex(of: UInt8(ascii: ".")).map { Array(name.bytes[$0...]) } ?? []
    }

    private func place(of document: InodeID) -> ListedDocument? {
        (try? mount.catalog.read { try $0.listed(document) }) ?? nil
    }

    /// Forgets runs that no program continues.
    private func forget(_ state: inout State) {
        let now = ContinuousClock.now
        state.runs = state.runs.filter { $0.value.moment.duration(to: now) < Self.patience }
        guard state.begun.count > state.mostBegun else { return }
        state.begun = state.begun.filter { $0.value.moment.duration(to: now) < Self.memory }
        // Not again for each further document.
        state.mostBegun = max(Self.mostRemembered, state.begun.count * 2)
        waiting.store(state.begun.count, ordering: .relaxed)
    }

    private func room(_ state: State, _ run: Run?) -> Int {
        guard let run, !state.isStopped, run.moment.duration(to: .now) < Self.patience else { return 0 }
        return min(run.window - run.outstanding, Self.mostAtOnce - state.running.count)
    }

    private func goOn(in folder: InodeID) {
        let most = most
        while true {
            let (run, next) = state.withLock { begin(in: folder, &$0, most) }
            // Outside the lock, which others wait for: each download wakes a thread.
            for document in next { download(document, in: folder) }
            guard let run else { return }
            let found =
                (try? mount.catalog.read {
                    try $0.placeholders(in: folder, after: run.furthest, largest: min(Self.largest, most))
                }) ?? []
            let alike = found.filter { run.ending == nil || run.ending == Self.ending(of: $0.name) }
            if alike.isEmpty { return }
            state.withLock { state in
                if state.runs[folder]?.id == run.id { state.runs[folder]!.upcoming = alike[...] }
            }
        }
    }

    /// Begins the known next documents in order: a document left out now would not be downloaded later.
    ///
    /// - Returns: the run, if there is room for more than the known documents; and the documents to download.
    private func begin(in folder: InodeID, _ state: inout State, _ most: Int64) -> (Run?, [ListedDocument]) {
        var next: [ListedDocument] = []
        while let run = state.runs[folder], room(state, run) > 0 {
            guard let document = run.upcoming.first else { return (run, next) }
            if state.underWay + document.bytes > most { break }
            state.runs[folder]!.upcoming.removeFirst()
            // (A reader may have passed the document.)
            guard document.number > run.furthest else { continue }
            state.runs[folder]!.furthest = document.number
            guard !state.running.contains(document.inode), state.begun[document.inode] == nil else { continue }
            state.runs[folder]!.outstanding += 1
            state.begun[document.inode] = Begun(folder: folder, run: run.id, number: document.number, moment: .now)
            waiting.store(state.begun.count, ordering: .relaxed)
            state.underWay += document.bytes
            state.running.insert(document.inode)
            next.append(document)
        }
        return (nil, next)
    }

    private func download(_ document: ListedDocument, in folder: InodeID) {
        let task = Task(executorPreference: mount.workers) {
            await self.download(document.inode, bytes: document.bytes, in: folder)
        }
        let isStopped = state.withLock { state in
            // (The download may have ended already.)
            if state.running.contains(document.inode) { state.tasks[document.inode] = task }
            return state.isStopped
        }
        if isStopped { task.cancel() }
    }

    private func download(_ document: InodeID, bytes: Int64, in folder: InodeID) async {
        let received = try? await downloader.downloadWhole(document)
        // Not the first to be evicted where there is little room.
        if received != nil { cache.used(document) }
        state.withLock { state in
            state.running.remove(document)
            state.tasks[document] = nil
            state.underWay -= bytes
            state.figures.downloaded += received ?? 0
            // End the run: readers ask for documents that cannot be downloaded now.
            if received == nil { state.runs[folder] = nil }
            guard let begun = state.begun[document] else { return state.figures.used += received ?? 0 }
            if let received, received > 0 { return state.begun[document]!.received = received }
            // Nothing came ahead: the reader was quicker.
            state.begun[document] = nil
            waiting.store(state.begun.count, ordering: .relaxed)
            if state.runs[folder]?.id == begun.run { state.runs[folder]!.outstanding -= 1 }
        }
        if received != nil { goOn(in: folder) }
    }
}
