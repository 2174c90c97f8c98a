import FileProvider
import ItemCatalog
import Locking
import Synchronization
import Trees

/// A program that reads a folder's documents one after another (grep, a viewer, a build, a backup) has the next ones coming
/// before it asks: over a long line it would wait a round trip for each.
///
/// Three small documents close to each other in a folder's order, each of which had to be downloaded, make a run. What is
/// downloaded ahead of one begins with two documents and doubles while they are read, up to `mostDocuments`, and is
/// bounded in bytes (`CacheLimits.ahead`); how much of it nobody read is counted. Where all of a run's names end alike
/// (`.jpg`, `.h`), only such come ahead.
package final class ReadAhead: Sendable {
    private struct Run {
        /// Of the document that was read last, in the order of the folder's listing.
        var last: Int64
        var moment: ContinuousClock.Instant
        var length = 1
        /// Of the last one that is downloaded ahead.
        var furthest: Int64
        /// Those after it, as far as they have been looked for.
        var upcoming: ArraySlice<ListedDocument> = []
        /// What all names end in; nil: not all do.
        var ending: [UInt8]?
        var window = 2
        /// Begun ahead, and not read yet.
        var outstanding = 0
        /// Of all runs.
        let id: UInt64
    }
    private struct Begun {
        var folder: InodeID
        /// The run's; the folder may have another one by now.
        var run: UInt64
        var number: Int64
        var moment: ContinuousClock.Instant
        /// Nil: it is still coming.
        var received: Int64?
    }
    private struct State {
        var runs: [InodeID: Run] = [:]
        /// What nobody has opened yet.
        var begun: [InodeID: Begun] = [:]
        /// With more than this it is looked at which are old.
        var mostBegun = ReadAhead.mostRemembered
        /// What is coming.
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
        /// Of that, of documents that were opened afterwards.
        package var used: Int64 = 0
    }

    private let state = AdaptiveMutex(State())
    /// How many documents wait to be opened, so that other opens need not ask.
    private let waiting = Atomic(0)
    private let context: SyncContext
    private let downloader: Downloader
    private let cache: CacheKeeper

    private static let mostDocuments = 24
    private static let mostAtOnce = 12
    /// Larger ones are downloaded ahead of their own reader.
    private static let largest: Int64 = 1 << 20
    /// Names between two documents that still are one after another (a program may read only some of them).
    private static let stride: Int64 = 16
    private static let patience = Duration.seconds(3)
    /// More that nobody has opened are forgotten, if they are older than this.
    private static let mostRemembered = 1_000
    private static let memory = Duration.seconds(60)

    init(context: SyncContext, downloader: Downloader, cache: CacheKeeper) {
        self.context = context
        self.downloader = downloader
        self.cache = cache
    }

    package var figures: Figures { state.withLock { $0.figures } }

    // MARK: What programs do

    /// A program waits for bytes of a placeholder. Never waits.
    func isRead(_ document: InodeID, size: Int64) {
        // (It may have been begun since it was opened.)
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

    /// Nothing begins any more, and what is under way ends.
    func stop() {
        let running = state.withLock { state in
            state.isStopped = true
            return Array(state.tasks.values)
        }
        for task in running { task.cancel() }
    }

    // MARK: Ahead

    /// In bytes, of what is under way; none over a line that the user has limited, or while he has paused.
    private var most: Int64 {
        let limits = context.room.limits
        guard limits.ahead > 0, !context.pause.isOn, !context.isKnownToBeAway,
            context.transfers.downloadLimit.piece == nil
        else { return 0 }
        return min(limits.ahead, limits.most.map { $0 / 8 } ?? .max)
    }

    /// From the last dot on; empty without one.
    private static func ending(of name: Filename) -> [UInt8] {
        name.bytes.lastIndex(of: UInt8(ascii: ".")).map { Array(name.bytes[$0...]) } ?? []
    }

    private func place(of document: InodeID) -> ListedDocument? {
        (try? context.catalog.read { try $0.listed(document) }) ?? nil
    }

    /// Runs that nobody goes on with.
    private func forget(_ state: inout State) {
        let now = ContinuousClock.now
        state.runs = state.runs.filter { $0.value.moment.duration(to: now) < Self.patience }
        guard state.begun.count > state.mostBegun else { return }
        state.begun = state.begun.filter { $0.value.moment.duration(to: now) < Self.memory }
        // Not again for each one.
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
            // Outside of the lock, which others wait for: each wakes a thread.
            for document in next { bring(document, in: folder) }
            guard let run else { return }
            let found =
                (try? context.catalog.read {
                    try $0.placeholders(in: folder, after: run.furthest, largest: min(Self.largest, most))
                }) ?? []
            let alike = found.filter { run.ending == nil || run.ending == Self.ending(of: $0.name) }
            if alike.isEmpty { return }
            state.withLock { state in
                if state.runs[folder]?.id == run.id { state.runs[folder]!.upcoming = alike[...] }
            }
        }
    }

    /// What is known to come next, in order, begins: what is left out now would not come any more.
    ///
    /// - Returns: the run, if there is room for more than is known; and what is to be brought.
    private func begin(in folder: InodeID, _ state: inout State, _ most: Int64) -> (Run?, [ListedDocument]) {
        var next: [ListedDocument] = []
        while let run = state.runs[folder], room(state, run) > 0 {
            guard let document = run.upcoming.first else { return (run, next) }
            if state.underWay + document.bytes > most { break }
            state.runs[folder]!.upcoming.removeFirst()
            // (A reader may have passed it since.)
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

    private func bring(_ document: ListedDocument, in folder: InodeID) {
        let task = Task(executorPreference: context.workers) {
            await self.bring(document.inode, bytes: document.bytes, in: folder)
        }
        let isStopped = state.withLock { state in
            // (It may have ended already.)
            if state.running.contains(document.inode) { state.tasks[document.inode] = task }
            return state.isStopped
        }
        if isStopped { task.cancel() }
    }

    private func bring(_ document: InodeID, bytes: Int64, in folder: InodeID) async {
        let received = try? await downloader.bringWhole(document)
        // It is not to be what goes first where there is little room.
        if received != nil { cache.used(document) }
        state.withLock { state in
            state.running.remove(document)
            state.tasks[document] = nil
            state.underWay -= bytes
            state.figures.downloaded += received ?? 0
            // What cannot be had now is asked for by who needs it.
            if received == nil { state.runs[folder] = nil }
            guard let begun = state.begun[document] else { return state.figures.used += received ?? 0 }
            if let received, received > 0 { return state.begun[document]!.received = received }
            // Nothing came ahead: its reader was quicker.
            state.begun[document] = nil
            waiting.store(state.begun.count, ordering: .relaxed)
            if state.runs[folder]?.id == begun.run { state.runs[folder]!.outstanding -= 1 }
        }
        if received != nil { goOn(in: folder) }
    }
}
