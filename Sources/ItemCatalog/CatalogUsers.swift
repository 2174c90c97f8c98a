import Foundation
import Synchronization

/// Who is at work in a catalog: it is not closed under anybody, which GRDB does not forgive.
final class CatalogUsers: Sendable {
    private struct State {
        var count = 0
        var isShut = false
    }
    private let state = Mutex(State())

    /// ``leave()`` is to follow.
    func enter(_ path: String) throws(CatalogError) {
        let isOpen = state.withLock { state in
            if !state.isShut { state.count += 1 }
            return !state.isShut
        }
        guard isOpen else { throw CatalogError(.system, "\(path): is closed") }
    }

    func leave() { state.withLock { $0.count -= 1 } }

    /// Nobody comes in any more; returns when all have left.
    func shut() {
        state.withLock { $0.isShut = true }
        while state.withLock({ $0.count > 0 }) { usleep(1_000) }
    }
}
