/// A monotonic clock. Tests bring one that they advance themselves.
package protocol Ticking: Sendable {
    /// The time since a fixed moment.
    func now() -> Duration
    /// Returns when ``now()`` is at least `moment`; throws when the task is cancelled.
    func sleep(until moment: Duration) async throws
}

/// The machine's clock; it stops while the machine sleeps.
struct MachineTicker: Ticking {
    private static let start = SuspendingClock.now

    func now() -> Duration { Self.start.duration(to: .now) }

    func sleep(until moment: Duration) async throws {
        try await Task.sleep(until: Self.start + moment, clock: .suspending)
    }
}
