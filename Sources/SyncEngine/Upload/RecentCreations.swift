import FileProvider
import Synchronization

/// What was made in the store from here moments ago. What goes again so soon was a program's temporary file, sent
/// because it lay still for a moment: no trash is to fill with those.
///
/// In memory only: after a restart everything is old, and goes to the trash.
final class RecentCreations: Sendable {
    private let made = Mutex<[ItemIdentifier: ContinuousClock.Instant]>([:])

    func note(_ identifier: ItemIdentifier) {
        made.withLock { made in
            if made.count >= 4_096 { made = made.filter { $0.value > .now - .seconds(60) } }
            if made.count < 65_536 { made[identifier] = .now }
        }
    }

    func isRecent(_ identifier: ItemIdentifier, seconds: Double) -> Bool {
        made.withLock { $0[identifier] }.map { $0 > .now - .seconds(seconds) } ?? false
    }
}
