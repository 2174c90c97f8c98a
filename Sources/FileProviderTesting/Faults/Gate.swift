public import FileProvider
import Synchronization

/// Where calls hang until a test lets them go on.
public final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var nextKey = 0
        var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
        var arrivals = 0
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }
    private let state = Mutex(State())

    /// A closed gate.
    public init() {}

    /// Lets every call go on that hangs here, and every one that will come.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return state.waiting.values.map { $0 }
        }
        for continuation in waiting { continuation.resume(returning: true) }
    }

    /// How many calls hang here now.
    public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Returns when so many calls have arrived here since the gate was made, also if they left again.
    public func waitForArrivals(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.arrivals >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Returns when the gate is open; throws `FileProviderError.Code.cancelled` when the task is
    /// cancelled before.
    public func pass() async throws(FileProviderError) {
        let key = state.withLock { state in
            state.nextKey += 1
            return state.nextKey
        }
        let mayPass = await withTaskCancellationHandler {
            await withCheckedContinuation { wait(key, $0) }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: key) }?.resume(returning: false)
        }
        if !mayPass { throw FileProviderError(.cancelled, "Cancelled while the call hung.") }
    }

    private func wait(_ key: Int, _ continuation: CheckedContinuation<Bool, Never>) {
        // Asked again under the lock: a cancellation before now found nothing to resume.
        let (answer, watchers) = state.withLock { state -> (Bool?, [CheckedContinuation<Void, Never>]) in
            state.arrivals += 1
            let arrivals = state.arrivals
            let met = state.watchers.filter { $0.count <= arrivals }.map(\.continuation)
            state.watchers.removeAll { $0.count <= arrivals }
            if Task.isCancelled { return (false, met) }
            if state.isOpen { return (true, met) }
            state.waiting[key] = continuation
            return (nil, met)
        }
        for watcher in watchers { watcher.resume() }
        if let answer { continuation.resume(returning: answer) }
    }
}
