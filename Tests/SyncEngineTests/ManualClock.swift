import FileProvider
import ItemCatalog
import Synchronization
import Trees

@testable import SyncEngine

/// A clock that goes when a test says so.
final class ManualClock: EngineClock {
    private struct State {
        var elapsed = Duration.zero
        var next = 0
        var sleepers: [Int: (until: Duration, continuation: CheckedContinuation<Bool, Never>)] = [:]
    }
    private let state = Mutex(State())
    private let start = (now: ContinuousClock.now, awake: SuspendingClock.now, date: FileTime.now)

    var elapsed: Duration { state.withLock { $0.elapsed } }
    var now: ContinuousClock.Instant { start.now + elapsed }
    var awake: SuspendingClock.Instant { start.awake + elapsed }
    var date: FileTime { start.date.adding(seconds: elapsed / .seconds(1)) }

    func isSleeping(until moment: SuspendingClock.Instant) -> Bool {
        state.withLock { state in state.sleepers.values.contains { $0.until == moment - start.awake } }
    }

    /// When the next task wakes up, on ``elapsed``; nil when none sleeps.
    var nextWake: Duration? { state.withLock { $0.sleepers.values.map(\.until).min() } }

    func advance(by duration: Duration) { advance(to: elapsed + duration) }

    func advance(to moment: Duration) {
        let woken = state.withLock { state in
            state.elapsed = max(state.elapsed, moment)
            let due = state.sleepers.filter { $0.value.until <= state.elapsed }
            for key in due.keys { state.sleepers[key] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume(returning: true) }
    }

    func sleep(until moment: ContinuousClock.Instant) async throws { try await sleep(until: moment - start.now) }
    func sleep(until moment: SuspendingClock.Instant) async throws { try await sleep(until: moment - start.awake) }

    private func sleep(until moment: Duration) async throws {
        let key = state.withLock { state in
            state.next += 1
            return state.next
        }
        let isDone = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    if state.elapsed >= moment { return true }
                    state.sleepers[key] = (moment, continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: key) }?.continuation.resume(returning: false)
        }
        if !isDone { throw CancellationError() }
    }
}
