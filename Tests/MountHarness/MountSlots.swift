import Synchronization

/// Limits the number of scenarios that run at once: each has a daemon, and a machine with two cores soon gets too slow
/// for time limits. Scenarios that measure time run alone.
final class MountSlots: Sendable {
    static let shared = MountSlots(count: 4)

    private struct Waiting {
        var weight: Int
        var continuation: CheckedContinuation<Void, Never>
    }
    private struct State {
        var free: Int
        var queue: [Waiting] = []
    }
    private let state: Mutex<State>
    let count: Int

    init(count: Int) {
        self.count = count
        state = Mutex(State(free: count))
    }

    func take(_ weight: Int) async {
        await withCheckedContinuation { continuation in
            let hasPlace = state.withLock { state in
                guard state.queue.isEmpty, state.free >= weight else {
                    state.queue.append(Waiting(weight: weight, continuation: continuation))
                    return false
                }
                state.free -= weight
                return true
            }
            if hasPlace { continuation.resume() }
        }
    }

    func give(_ weight: Int) {
        let next = state.withLock { state in
            state.free += weight
            var next: [CheckedContinuation<Void, Never>] = []
            while let first = state.queue.first, first.weight <= state.free {
                state.free -= first.weight
                next.append(first.continuation)
                state.queue.removeFirst()
            }
            return next
        }
        for continuation in next { continuation.resume() }
    }
}
