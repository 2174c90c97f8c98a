import FileProvider
import Foundation
import ItemCatalog
import Logging
import Trees

/// Sends pending changes in the background: plans, runs some steps at once, plans again.
///
/// There is no work list to lose: pending changes are the difference between the trees, read from the catalog each
/// time.
actor UploadQueue {
    private let mount: MountState
    private let client: StoreClient
    private let uploads: UploadState
    private let reports: EventReports
    private let switches: SyncSwitches
    private let runner: StepRunner
    private var inFlight: [ItemID: Planner.Planned] = [:]
    /// Running steps that may take long.
    private var large: Set<ItemID> = []
    private var tasks: [ItemID: Task<Void, Never>] = [:]
    /// Items that were not ready although the catalog said so; skipped until this moment.
    private var postponed: [ItemID: ContinuousClock.Instant] = [:]
    /// Items that a caller is about to change outside the planner; no step for them begins.
    private var reserved: [ItemID: Int] = [:]
    private var offlineSince: ContinuousClock.Instant?
    private var pausedUntil: ContinuousClock.Instant?
    private var isToWake = false
    private var timer: (task: Task<Void, Never>, end: ContinuousClock.Instant)?
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation
    /// Steps at once: small steps only wait for the round trip, and a large document fills the line.
    private static let usualSteps = 16
    private static let mostLarge = 4
    /// Steps at once while programs are busy for long.
    private static let fewSteps = 2
    private let activity = LocalActivity()
    /// Until when somebody waits for all changes.
    private var awaitedUntil: ContinuousClock.Instant?
    private static let calm = Duration.milliseconds(10)
    private var clock = WallClock(tolerance: 1)
    /// How often in a row the catalog could not be read.
    private var failures: Int64 = 0

    init(
        mount: MountState, client: StoreClient, uploads: UploadState, reports: EventReports, switches: SyncSwitches,
        runner: StepRunner
    ) {
        self.mount = mount
        self.client = client
        self.uploads = uploads
        self.reports = reports
        self.switches = switches
        self.runner = runner
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// A change is pending, or ready sooner than before. Never blocks; from any thread.
    nonisolated func wake() { waker.yield() }

    /// A program has made a change.
    nonisolated func changed() {
        activity.note()
        wake()
    }

    /// A program has made a change, and ``changed()`` follows in a moment.
    nonisolated func willChange() { activity.note() }

    /// `hydrant sync`: no change waits longer than it must.
    func retryNow() {
        postponed = [:]
        isAwaited()
        if offlineSince == nil { pausedUntil = nil }
        wake()
    }

    /// For a moment, programs' activity does not delay changes; a waiting caller calls this again and again.
    func isAwaited() { awaitedUntil = mount.clock.now + .seconds(1) }

    /// `hydrant pause`: aborts running uploads; lets quick steps finish.
    func pause() {
        for (id, planned) in inFlight where planned.step.movesContents { tasks[id]?.cancel() }
    }

    /// Runs until its task is cancelled.
    func run() async {
        wake()
        for await _ in wakes {
            if Task.isCancelled { break }
            // One moment and one limit for both calls, so that a change that becomes ready in between gets a timer.
            let moment = Moment(mount.clock)
            let most = mostNow
            do {
                try followClock()
                try startSteps(at: moment, most)
                try wakeLater(after: moment, most)
                failures = 0
            } catch {
                cannotPlan(error)
            }
            // A pause, because a program that changes one document after another would make us look each time, before
            // any may be sent.
            if inFlight.isEmpty { try? await Task.sleep(for: Self.calm) }
        }
        timer?.task.cancel()
    }

    /// Pending changes cannot be read, which does not mean that there are none: looks again, ever less often.
    private func cannotPlan(_ error: any Error) {
        let seconds = min(30, RetryDelay.seconds(after: failures, nil, mount.times))
        failures += 1
        mount.logger.error(
            "cannot read pending changes from the catalog; nothing is sent until it can be read again",
            metadata: ["error": "\(error)", "next": "again in \(seconds) s"])
        reports.failure(SyncError(error), at: "", nil, next: "nothing is sent until the catalog can be read again")
        wakeLater(at: mount.clock.now + .seconds(seconds))
    }

    /// After the wall clock was set back, no change waits for as long as the clock was ahead.
    private func followClock() throws {
        let wasSetBack = clock.wasSetBack()
        let times = mount.times
        let waits = try mount.catalog.read {
            try $0.waitsTooLong(
                settle: times.longestSettle, retry: max(times.firstRetry, times.longestRetry),
                date: { mount.clock.date })
        }
        guard wasSetBack || waits else { return }
        mount.logger.notice("the clock was set back: waiting changes are sent now")
        try mount.catalog.write { try $0.settleNow(retrying: true) }
    }

    /// Sets a timer for the next end of a settle time or of a retry's wait.
    private func wakeLater(after moment: Moment, _ most: Int) throws {
        guard inFlight.count < mostSteps else { return }
        if most < mostSteps { return wakeLater(at: moment.clock + LocalActivity.window) }
        // All as seen at `moment`: an end that has passed since then is not put off.
        var ends = postponed.values.filter { $0 > moment.clock }
        if let pausedUntil, pausedUntil > moment.clock { ends.append(pausedUntil) }
        if let upcoming = try mount.catalog.read({ try $0.nextMoment(after: moment.time) }) {
            ends.append(moment.clock + .nanoseconds(upcoming.nanoseconds - moment.time.nanoseconds))
        }
        if let end = ends.min() { wakeLater(at: end + .milliseconds(1)) }
    }

    /// Wakes at `end` or a little later. (Waking early does no harm: a timer that ends before then will do.)
    private func wakeLater(at end: ContinuousClock.Instant) {
        if let timer, timer.end > mount.clock.now, timer.end <= end { return }
        timer?.task.cancel()
        let task = Task(executorPreference: mount.workers) { [waker, clock = mount.clock] in
            if (try? await clock.sleep(until: end)) != nil { waker.yield() }
        }
        timer = (task, end)
    }

    /// The present moment, on the clock that includes the machine's sleep, and as the catalog has it.
    private struct Moment {
        let clock: ContinuousClock.Instant
        let time: FileTime

        init(_ clock: any EngineClock) { (self.clock, time) = (clock.now, clock.date) }
    }

    private func startSteps(at moment: Moment, _ most: Int) throws {
        if switches.pause.isOn || switches.isMasked { return }
        if let pausedUntil, pausedUntil > moment.clock { return }
        guard inFlight.count < most else { return }
        postponed = postponed.filter { $0.value > moment.clock }
        var moves = FolderMoves(catalog: mount.catalog)
        for planned in try plannedSteps(at: moment.time) {
            guard inFlight.count < most else { return }
            guard mayBegin(planned, &moves) else { continue }
            let id = planned.pending.item.id
            // `uploadsAtOnce` limits only documents' uploads; other steps have the usual limit.
            if !planned.step.movesContents {
                guard inFlight.values.count(where: { !$0.step.movesContents }) < Self.usualSteps else { continue }
            }
            if isLarge(planned) {
                guard large.count < Self.mostLarge else { continue }
                large.insert(id)
            }
            inFlight[id] = planned
            tasks[id] = Task(executorPreference: mount.workers) {
                let outcome = await self.runner.run(planned)
                await self.finished(id, outcome)
            }
        }
    }

    /// How many steps may run at once now.
    private var mostNow: Int {
        if let awaitedUntil, awaitedUntil > mount.clock.now { return mostSteps }
        return switch activity.pressure {
        case .none: mostSteps
        case .burst: 0
        case .lasting: Self.fewSteps
        }
    }

    private var mostSteps: Int {
        max(Self.usualSteps, client.uploadsAtOnce)
    }

    private func mayBegin(_ planned: Planner.Planned, _ moves: inout FolderMoves) -> Bool {
        !inFlight.values.contains { planned.waits(for: $0) }
            && moves.allow(planned, beside: inFlight.values, long: large)
    }

    private func isLarge(_ planned: Planner.Planned) -> Bool {
        guard planned.step.movesContents, let inode = planned.pending.item.inode else { return false }
        let record = try? mount.catalog.read { try $0.inode(inode) }
        return (record?.size ?? 0) > 1 << 20
    }

    private func plannedSteps(at moment: FileTime) throws -> [Planner.Planned] {
        // (The first of them are those under way.)
        var limit = 64 + inFlight.count
        while true {
            let pending = try mount.catalog.read {
                try $0.pending(at: moment, limit: limit, lasting: Refusal.codes)
            }
            var moves = FolderMoves(catalog: mount.catalog)
            let steps = Planner.plan(pending).filter {
                postponed[$0.pending.item.id] == nil && reserved[$0.pending.item.id] == nil
                    && !uploads.isSentByOthers($0.pending.item) && mayBegin($0, &moves)
            }
            // All items of a page may wait for an item behind the page.
            if !steps.isEmpty { return steps }
            if pending.count < limit { return unstick(pending) }
            limit *= 8
        }
    }

    /// Waits at most this many seconds until no step runs; returns whether none does.
    func drain(seconds: Double) async -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while !inFlight.isEmpty && .now < deadline { try? await Task.sleep(for: .milliseconds(20)) }
        return inFlight.isEmpty
    }

    /// Prevents new steps for these items until ``release(_:)``, and waits at most this many seconds until none runs.
    ///
    /// - Returns: whether none runs; if false, nothing is reserved.
    func reserve(_ items: Set<ItemID>, seconds: Double) async -> Bool {
        for item in items { reserved[item, default: 0] += 1 }
        let deadline = ContinuousClock.now + .seconds(seconds)
        while items.contains(where: { inFlight[$0] != nil }) {
            if .now >= deadline || Task.isCancelled {
                release(items)
                return false
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    func release(_ items: Set<ItemID>) {
        for item in items {
            let left = reserved[item, default: 1] - 1
            reserved[item] = left > 0 ? left : nil
        }
        wake()
    }

    private func unstick(_ waiting: [PendingItem]) -> [Planner.Planned] {
        guard inFlight.isEmpty, postponed.isEmpty, reserved.isEmpty else { return [] }
        let step = Planner.breakDeadlock(among: waiting, at: mount.clock.date)
        return step.flatMap { uploads.isSentByOthers($0.pending.item) ? nil : [$0] } ?? []
    }

    /// Retries at once the changes that failed because the store was away, but not those that fail alone.
    func storeAnswers() {
        offlineSince = nil
        pausedUntil = nil
        let later = uploads.loneFailures.storeReturned(wasAway: client.connection.wasAway).mapValues { count in
            mount.clock.date.adding(
                seconds: RetryDelay.seconds(after: Int64(count), nil, mount.times, isAlone: true))
        }
        do {
            try mount.catalog.write { writer in
                for code in [FileProviderError.Code.serverUnreachable, .notAuthenticated] {
                    try writer.retryNow(failedWith: code.description, but: later)
                }
            }
        } catch {
            // The changes are tried again when due.
            mount.logger.error(
                "the store answers again, but waiting changes cannot be tried at once", metadata: ["error": "\(error)"]
            )
        }
        wake()
    }

    private func finished(_ id: ItemID, _ outcome: StepRunner.Outcome) {
        let before = inFlight[id]?.pending.item
        inFlight[id] = nil
        large.remove(id)
        tasks[id] = nil
        switch outcome {
        case .done:
            uploads.loneFailures.ended(id)
            if offlineSince != nil { storeAnswers() }
            pausedUntil = nil
            // The step changed nothing: otherwise it would be repeated at once, for ever.
            if let before, before == (try? mount.catalog.read { try $0.item(id) }) {
                postponed[id] = mount.clock.now + .seconds(1)
            }
        case .postponed:
            postponed[id] = mount.clock.now + .milliseconds(250)
        case .failed(.some(.serverUnreachable)):
            offlineSince = offlineSince ?? mount.clock.now
            pausedUntil = mount.clock.now + .seconds(mount.times.firstRetry)
        case .failed:
            break
        case .unrecorded(let seconds):
            postponed[id] = mount.clock.now + .seconds(seconds)
        }
        if inFlight.count <= mostSteps / 2 { wake() } else { wakeSoon() }
    }

    /// Wakes once for many steps that end in quick succession: looking for the next step takes longer than a small
    /// upload.
    private func wakeSoon() {
        if isToWake { return }
        isToWake = true
        Task {
            try? await Task.sleep(for: Self.calm)
            isToWake = false
            wake()
        }
    }
}

extension Step {
    /// Whether the step may take as long as a document is large.
    fileprivate var movesContents: Bool { self == .uploadContents || self == .create }
}
