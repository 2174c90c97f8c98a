import Synchronization

@testable import SyncEngine

/// A clock that goes when a test says so.
final class ManualTicker: Ticking {
    private struct State {
        var moment = Duration.zero
        var next = 0
        var sleepers: [Int: (until: Duration, continuation: CheckedContinuation<Bool, Never>)] = [:]
    }
    private let state = Mutex(State())

    func now() -> Duration { state.withLock { $0.moment } }

    /// How many sleep now.
    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// The next moment at which somebody wakes up; nil when nobody sleeps.
    var nextWake: Duration? { state.withLock { $0.sleepers.values.map(\.until).min() } }

    func advance(to moment: Duration) {
        let woken = state.withLock { state in
            state.moment = max(state.moment, moment)
            let due = state.sleepers.filter { $0.value.until <= state.moment }
            for key in due.keys { state.sleepers[key] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume(returning: true) }
    }

    func sleep(until moment: Duration) async throws {
        let key = state.withLock { state in
            state.next += 1
            return state.next
        }
        let isDone = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    if state.moment >= moment { return true }
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
