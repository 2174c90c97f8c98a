import Locking

/// Looks at all running streams at intervals: one timer for all, because most streams end long before the first look.
/// The time that the machine sleeps does not count.
final class StreamWatch: Sendable {
    /// Called with the seconds since the last look.
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

    /// Must be followed by ``end(_:)``.
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
