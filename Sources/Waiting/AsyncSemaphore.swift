import Synchronization

/// A counting semaphore; waiting tasks enter in the order of arrival.
///
/// Transfers use one, so a folder can still be listed while the most downloads run.
package final class AsyncSemaphore: Sendable {
    private struct State {
        var count: Int
        /// Negative: this many tasks must leave before one may enter.
        var free: Int
        var nextID: UInt64 = 0
        var waiting: [(id: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
    }
    private let state: Mutex<State>

    package init(_ count: Int) { state = Mutex(State(count: count, free: count)) }

    /// Each call must be followed by a ``leave()``.
    ///
    /// Runs on the caller's actor: callers on one actor enter in the order of their calls.
    package func enter(isolation: isolated (any Actor)? = #isolation) async throws(CancellationError) {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let isIn = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    if state.free > 0 {
                        state.free -= 1
                        return true
                    }
                    state.waiting.append((id, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
        guard isIn else { throw CancellationError() }
    }

    /// Lowers the limit; tasks that are inside stay.
    package func limit(to count: Int) {
        state.withLock { state in
            let surplus = max(0, state.count - count)
            state.count -= surplus
            state.free -= surplus
        }
    }

    /// Raises the limit to this many, if it was lower.
    package func widen(to count: Int) {
        let next = state.withLock { state in
            let added = max(0, count - state.count)
            state.count += added
            state.free += added
            let coming = min(max(0, state.free), state.waiting.count)
            defer { state.waiting.removeFirst(coming) }
            state.free -= coming
            return state.waiting.prefix(coming).map(\.continuation)
        }
        for continuation in next { continuation.resume(returning: true) }
    }

    package var width: Int { state.withLock { $0.count } }
    /// The number of waiting tasks.
    package var queue: Int { state.withLock { $0.waiting.count } }

    package func leave() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard state.waiting.isEmpty || state.free < 0 else { return state.waiting.removeFirst().continuation }
            state.free += 1
            return nil
        }
        next?.resume(returning: true)
    }
}
