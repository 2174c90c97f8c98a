import Locking
import Synchronization

/// The bytes per second that all transfers in one direction may move together: a token bucket.
///
/// A transfer waits here for its turn, and so the provider waits too (back pressure). Turns are dealt by bytes, not by
/// requests, so transfers share alike whatever the size of their pieces: the next turn goes to the transfer that would
/// finish first if all ran at once (start-time fair queueing; Goyal, Vin, Cheng, 1996). A piece may be larger than the
/// bucket's content: then the bucket owes, and the next turn comes later.
package final class BandwidthLimit: Sendable {
    private struct Waiter {
        var transfer: UInt64
        var count: Double
        /// The bytes of the transfer's earlier turns, on the scale of ``State/virtual``.
        var start: Double
        var continuation: CheckedContinuation<Bool, Never>
    }
    private struct State {
        /// In bytes a second; nil: no limit.
        var rate: Double?
        var tokens = 0.0
        var filled = SuspendingClock.now
        var waiters: [UInt64: Waiter] = [:]
        var nextID: UInt64 = 0
        var virtual = 0.0
        /// Where each transfer's next turn begins.
        var finished: [UInt64: Double] = [:]
        var timer: (moment: SuspendingClock.Instant, task: Task<Void, Never>)?
    }
    private let state = AdaptiveMutex(State())
    private let isLimited = Atomic<Bool>(false)
    private let clock: any EngineClock

    init(clock: any EngineClock) { self.clock = clock }

    /// In bytes a second; nil: no limit.
    package var rate: Int64? { state.withLock { $0.rate.map { Int64($0) } } }

    /// Takes effect at once, also for waiting transfers.
    package func set(_ rate: Int64?) {
        let isOpen = state.withLock { state in
            state.timer?.task.cancel()
            state.timer = nil
            // A debt from another rate is dropped.
            state.rate = rate.map { Double(max(1, $0)) }
            state.tokens = state.rate.map(Self.burst) ?? 0
            state.filled = clock.awake
            isLimited.store(rate != nil, ordering: .relaxed)
            return rate == nil
        }
        deal(toAll: isOpen)
    }

    /// The bytes that may be moved at once after a pause: an eighth of a second's worth.
    private static func burst(_ rate: Double) -> Double { max(1, rate / 8) }

    /// The size of the pieces to ask for, so that bytes flow evenly; nil: any size, there is no limit.
    var piece: Int? {
        guard isLimited.load(ordering: .relaxed) else { return nil }
        return state.withLock { $0.rate.map { Int(min(65_536, max(256, $0 / 16))) } }
    }

    /// When the next turn begins; nil: nobody waits for it.
    var nextTurn: SuspendingClock.Instant? { state.withLock { $0.timer?.moment } }

    /// The number of transfers that wait for their turn.
    var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// Returns when the transfer may move this many bytes; throws when the task is cancelled before.
    func take(_ count: Int, for transfer: UInt64) async throws(CancellationError) {
        guard isLimited.load(ordering: .relaxed), count > 0 else { return }
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Asked under the lock: a cancellation before now found no continuation to resume.
                let isOver = state.withLock { state in
                    if Task.isCancelled { return true }
                    let start = max(state.virtual, state.finished[transfer] ?? 0)
                    state.finished[transfer] = start + Double(count)
                    state.waiters[id] = Waiter(
                        transfer: transfer, count: Double(count), start: start, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume(returning: false) } else { deal() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: false)
        }
        if !isGranted { throw CancellationError() }
    }

    /// Gives turns while the bucket has tokens, and sets a timer for the rest.
    private func deal(toAll: Bool = false) {
        let granted = state.withLock { state -> [CheckedContinuation<Bool, Never>] in
            guard let rate = state.rate, !toAll else {
                defer { state.waiters = [:] }
                return state.waiters.values.map(\.continuation)
            }
            let now = clock.awake
            let elapsed = (now - state.filled) / .seconds(1)
            state.tokens = min(Self.burst(rate), state.tokens + rate * elapsed)
            state.filled = now
            var granted: [CheckedContinuation<Bool, Never>] = []
            while state.tokens > 0, let (id, next) = Self.next(state) {
                state.waiters[id] = nil
                state.tokens -= next.count
                state.virtual = next.start
                granted.append(next.continuation)
            }
            forget(&state)
            if !state.waiters.isEmpty { wakeLater(&state, rate) }
            return granted
        }
        for continuation in granted { continuation.resume(returning: true) }
    }

    private static func next(_ state: State) -> (UInt64, Waiter)? {
        state.waiters.min { ($0.value.start, $0.key) < ($1.value.start, $1.key) }.map { ($0.key, $0.value) }
    }

    /// Transfers that have not asked for a long time begin like new ones.
    private func forget(_ state: inout State) {
        guard state.finished.count > 64 else { return }
        let virtual = state.virtual
        state.finished = state.finished.filter { $0.value > virtual }
    }

    private func wakeLater(_ state: inout State, _ rate: Double) {
        guard state.timer == nil else { return }
        let moment = state.filled + .seconds((1 - state.tokens) / rate)
        let task = Task { [weak self, clock] in
            guard (try? await clock.sleep(until: moment)) != nil, !Task.isCancelled, let self else { return }
            self.state.withLock { $0.timer = nil }
            self.deal()
        }
        state.timer = (moment, task)
    }
}
