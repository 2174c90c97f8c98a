/// A clock that goes only forward. Tests bring one that goes when they say so.
package protocol Ticking: Sendable {
    /// Since some moment that stays the same.
    func now() -> Duration
    /// Returns when ``now()`` is at least `moment`; throws when the task is cancelled.
    func sleep(until moment: Duration) async throws
}

/// The machine's; while it sleeps, no time passes.
struct MachineTicker: Ticking {
    private static let start = SuspendingClock.now

    func now() -> Duration { Self.start.duration(to: .now) }

    func sleep(until moment: Duration) async throws {
        try await Task.sleep(until: Self.start + moment, clock: .suspending)
    }
}
