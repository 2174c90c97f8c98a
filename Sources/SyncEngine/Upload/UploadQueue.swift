import FileProvider
import Foundation
import ItemCatalog
import Logging

/// Sends pending changes in the background: plans, runs a few steps at once, plans again.
///
/// There is no list of work to lose: what is pending is the difference between the trees, read from
/// the catalog each time.
actor UploadQueue {
    private let context: SyncContext
    private let runner: StepRunner
    private var inFlight: Set<ItemID> = []
    /// Items that were not ready although the catalog said so; not looked at again before then.
    private var postponed: [ItemID: ContinuousClock.Instant] = [:]
    private var offlineSince: ContinuousClock.Instant?
    private var pausedUntil: ContinuousClock.Instant?
    private var timer: Task<Void, Never>?
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation
    private static let mostSteps = 4

    init(context: SyncContext, runner: StepRunner) {
        self.context = context
        self.runner = runner
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Something is pending, or ready sooner than it was. Never blocks; from any thread.
    nonisolated func wake() { waker.yield() }

    /// `hydrant sync`: nothing waits any longer than it must.
    func hurry() {
        postponed = [:]
        if offlineSince == nil { pausedUntil = nil }
        wake()
    }

    /// Runs until its task is cancelled.
    func run() async {
        wake()
        for await _ in wakes {
            if Task.isCancelled { break }
            startSteps()
            wakeLater()
        }
        timer?.cancel()
    }

    /// Settle times and retries come to an end without anybody saying so.
    private func wakeLater() {
        timer?.cancel()
        guard inFlight.count < Self.mostSteps else { return }
        var waits: [Duration] = postponed.values.map { $0 - .now }
        if let pausedUntil { waits.append(pausedUntil - .now) }
        let upcoming = (try? context.catalog.read { try $0.nextMoment(after: .now) }) ?? nil
        if let upcoming { waits.append(.nanoseconds(upcoming.nanoseconds - FileTime.now.nanoseconds)) }
        guard let wait = waits.filter({ $0 > .zero }).min() else { return }
        timer = Task { [waker] in
            if (try? await Task.sleep(for: wait + .milliseconds(1))) != nil { waker.yield() }
        }
    }

    private func startSteps() {
        let now = ContinuousClock.now
        if let pausedUntil, pausedUntil > now { return }
        guard inFlight.count < Self.mostSteps else { return }
        postponed = postponed.filter { $0.value > now }
        for planned in plannedSteps() {
            guard inFlight.count < Self.mostSteps else { return }
            let id = planned.pending.item.id
            inFlight.insert(id)
            Task(executorPreference: context.workers) {
                let outcome = await self.runner.run(planned)
                await self.finished(id, outcome)
            }
        }
    }

    private func plannedSteps() -> [Planner.Planned] {
        var limit = 64
        while true {
            guard let pending = try? context.catalog.read({ try $0.pending(at: .now, limit: limit) }) else { return [] }
            let steps = Planner.plan(pending).filter {
                !inFlight.contains($0.pending.item.id) && postponed[$0.pending.item.id] == nil
            }
            // All of a page may wait for something behind it.
            if !steps.isEmpty { return steps }
            if pending.count < limit { return unstick(pending) }
            limit *= 8
        }
    }

    /// Waits until no step is under way, at most so many seconds; says whether none is.
    func drain(seconds: Double) async -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while !inFlight.isEmpty && .now < deadline { try? await Task.sleep(for: .milliseconds(20)) }
        return inFlight.isEmpty
    }

    private func unstick(_ waiting: [PendingItem]) -> [Planner.Planned] {
        guard inFlight.isEmpty, postponed.isEmpty else { return [] }
        return Planner.breakDeadlock(among: waiting, at: .now).map { [$0] } ?? []
    }

    /// Whatever waits because the store did not answer need not wait for its next try.
    private func storeAnswers() {
        offlineSince = nil
        context.logger.info("the store answers again")
        _ = try? context.catalog.write {
            try $0.retryNow(failedWith: FileProviderError.Code.serverUnreachable.description)
        }
    }

    private func finished(_ id: ItemID, _ outcome: StepRunner.Outcome) {
        inFlight.remove(id)
        switch outcome {
        case .done:
            if offlineSince != nil { storeAnswers() }
            pausedUntil = nil
        case .postponed:
            postponed[id] = .now + .milliseconds(250)
        case .failed(.some(.serverUnreachable)):
            if offlineSince == nil { context.logger.warning("the store does not answer; changes wait") }
            offlineSince = offlineSince ?? .now
            pausedUntil = .now + .seconds(context.times.firstRetry)
        case .failed:
            break
        }
        wake()
    }
}
