import Foundation
import Synchronization

/// Ends what takes too long, from a thread of its own: whatever a hung mount blocks, it does not block this.
final class Watchdog: Sendable {
    private let over = DispatchSemaphore(value: 0)
    private let fired = Mutex(false)

    /// - Parameter strike: is called when the time is up, and every second from then on until the end, since
    ///   a scenario may go on to the next hang.
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
