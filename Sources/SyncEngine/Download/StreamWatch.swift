import Locking

/// Checks all running streams at intervals: one timer for all, because most streams end long before the first check.
/// The time that the machine sleeps does not count.
final class StreamWatch: Sendable {
    /// Called with the seconds since the last check.
    typealias Check = @Sendable (Double) -> Void
    private struct State {
        var checks: [UInt64: Check] = [:]
        var lastID: UInt64 = 0
        var isTicking = false
    }
    private let state = AdaptiveMutex(State())
    /// In seconds.
    private let step: Double

    private let clock: any EngineClock

    init(step: Double, clock: any EngineClock) {
        self.step = step
        self.clock = clock
    }

    /// Must be followed by ``end(_:)``.
    func begin(_ check: @escaping Check) -> UInt64 {
        let (id, isFirst) = state.withLock { state in
            state.lastID += 1
            state.checks[state.lastID] = check
            defer { state.isTicking = true }
            return (state.lastID, !state.isTicking)
        }
        if isFirst { Task { await tick() } }
        return id
    }

    func end(_ id: UInt64) { _ = state.withLock { $0.checks.removeValue(forKey: id) } }

    private func tick() async {
        while true {
            try? await clock.sleep(until: clock.awake + .seconds(step))
            let checks = state.withLock { state in
                if state.checks.isEmpty { state.isTicking = false }
                return Array(state.checks.values)
            }
            if checks.isEmpty { return }
            for check in checks { check(step) }
        }
    }
}
