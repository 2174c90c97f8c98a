import Locking

/// Looks now and then at all streams that are under way: one timer for them, where most end long before its first look.
/// Time in which the machine sleeps does not count.
final class StreamWatch: Sendable {
    /// Gets the seconds since the last look.
    typealias Look = @Sendable (Double) -> Void
    private struct State {
        var looks: [UInt64: Look] = [:]
        var lastID: UInt64 = 0
        var isTicking = false
    }
    private let state = AdaptiveMutex(State())
    /// In seconds.
    private let step: Double

    init(step: Double) { self.step = step }

    /// ``end(_:)`` is to follow.
    func begin(_ look: @escaping Look) -> UInt64 {
        let (id, isFirst) = state.withLock { state in
            state.lastID += 1
            state.looks[state.lastID] = look
            defer { state.isTicking = true }
            return (state.lastID, !state.isTicking)
        }
        if isFirst { Task { await tick() } }
        return id
    }

    func end(_ id: UInt64) { _ = state.withLock { $0.looks.removeValue(forKey: id) } }

    private func tick() async {
        while true {
            try? await Task.sleep(for: .seconds(step), clock: .suspending)
            let looks = state.withLock { state in
                if state.looks.isEmpty { state.isTicking = false }
                return Array(state.looks.values)
            }
            if looks.isEmpty { return }
            for look in looks { look(step) }
        }
    }
}
