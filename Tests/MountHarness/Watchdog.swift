import Foundation
import Synchronization

/// Ends a scenario that takes too long, on its own thread: a hung mount does not block it.
final class Watchdog: Sendable {
    private let over = DispatchSemaphore(value: 0)
    private let fired = Mutex(false)

    /// - Parameter strike: called when the time is up, and every second from then on until the end, since the scenario
    ///   may go on to the next hang.
    init(limit: Double, strike: @escaping @Sendable () -> Void) {
        let thread = Thread { [self] in
            guard over.wait(timeout: .now() + limit * patience) == .timedOut else { return }
            fired.withLock { $0 = true }
            repeat { strike() } while over.wait(timeout: .now() + 1) == .timedOut
        }
        thread.name = "watchdog"
        thread.start()
    }

    var hasFired: Bool { fired.withLock { $0 } }

    func end() { over.signal() }
}
