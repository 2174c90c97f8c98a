import FileProvider
import Locking

/// Items made in the store from here moments ago. An item deleted so soon was a program's temporary file, which was
/// sent because it did not change for a moment; such files must not fill the trash.
///
/// In memory only: after a restart every item counts as old, and its deletion goes to the trash.
final class RecentCreations: Sendable {
    private struct State {
        var made: [ItemIdentifier: ContinuousClock.Instant] = [:]
        var cleaned: ContinuousClock.Instant
    }
    private let state: AdaptiveMutex<State>
    private let clock: any EngineClock

    init(_ clock: any EngineClock) {
        self.clock = clock
        state = AdaptiveMutex(State(cleaned: clock.now))
    }

    func note(_ identifier: ItemIdentifier) {
        state.withLock { state in
            let now = clock.now
            // Not for each item, when many are made.
            if state.made.count >= 4_096, state.cleaned.duration(to: now) > .seconds(1) {
                state.made = state.made.filter { $0.value > now - .seconds(60) }
                state.cleaned = now
            }
            if state.made.count < 65_536 { state.made[identifier] = now }
        }
    }

    func isRecent(_ identifier: ItemIdentifier, seconds: Double) -> Bool {
        state.withLock { $0.made[identifier] }.map { $0 > clock.now - .seconds(seconds) } ?? false
    }
}
