package import FileProvider
import ItemCatalog

/// The clock by which the engine waits for a second and more; shorter pauses go by the machine's. Tests bring a clock that
/// they advance themselves.
package protocol EngineClock: Sendable {
    /// For waits whose end does not depend on the machine's sleep: retries, polls, settle times.
    var now: ContinuousClock.Instant { get }
    /// Stands still while the machine sleeps: for time-outs and bandwidth.
    var awake: SuspendingClock.Instant { get }
    /// The date, as the catalog records it.
    var date: FileTime { get }
    /// Returns when ``now`` is at least `moment`; throws when the task is cancelled.
    func sleep(until moment: ContinuousClock.Instant) async throws
    /// Returns when ``awake`` is at least `moment`; throws when the task is cancelled.
    func sleep(until moment: SuspendingClock.Instant) async throws
}

extension EngineClock {
    /// Throws when the task is cancelled.
    package func sleep(for duration: Duration) async throws { try await sleep(until: now + duration) }
}

/// The machine's clocks.
package struct MachineClock: EngineClock {
    package init() {}

    package var now: ContinuousClock.Instant { .now }
    package var awake: SuspendingClock.Instant { .now }
    package var date: FileTime { .now }

    package func sleep(until moment: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: moment, clock: .continuous)
    }

    package func sleep(until moment: SuspendingClock.Instant) async throws {
        try await Task.sleep(until: moment, clock: .suspending)
    }
}
