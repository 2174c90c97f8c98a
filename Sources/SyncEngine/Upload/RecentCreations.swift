import FileProvider
import Locking

/// What was made in the store from here moments ago. What goes again so soon was a program's temporary file, sent
/// because it lay still for a moment: no trash is to fill with those.
///
/// In memory only: after a restart everything is old, and goes to the trash.
final class RecentCreations: Sendable {
    private struct State {
        var made: [ItemIdentifier: ContinuousClock.Instant] = [:]
        var cleaned = ContinuousClock.now
    }
    private let state = AdaptiveMutex(State())

    func note(_ identifier: ItemIdentifier) {
        state.withLock { state in
            let now = ContinuousClock.now
            // Not for each one, while many are made.
            if state.made.count >= 4_096, state.cleaned.duration(to: now) > .seconds(1) {
                state.made = state.made.filter { $0.value > now - .seconds(60) }
                state.cleaned = now
            }
            if state.made.count < 65_536 { state.made[identifier] = now }
        }
    }

    func isRecent(_ identifier: ItemIdentifier, seconds: Double) -> Bool {
        state.withLock { $0.made[identifier] }.map { $0 > .now - .seconds(seconds) } ?? false
    }
}
