public import FileProvider
import Synchronization

/// A barrier at which calls hang until a test opens it.
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

    /// Lets all calls pass that hang here, now and later.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return state.waiting.values.map { $0 }
        }
        for continuation in waiting { continuation.resume(returning: true) }
    }

    /// The number of calls that hang here now.
    public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Returns when this many calls have arrived since the gate was made, including those that have left.
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

    /// Returns when the gate is open; throws `FileProviderError.Code.cancelled` when the task is cancelled before.
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
        if !mayPass { throw FileProviderError(.cancelled, "cancelled while the call hung") }
    }

    private func wait(_ key: Int, _ continuation: CheckedContinuation<Bool, Never>) {
        // Checked again under the lock: an earlier cancellation found nothing to resume.
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
