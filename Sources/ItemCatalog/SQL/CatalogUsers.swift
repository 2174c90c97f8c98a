import Foundation
import Synchronization
import Trees

/// Counts users of a catalog, so that it is not closed while in use, which GRDB does not tolerate.
///
/// A number and not a lock: every look-up on every thread passes here, and a thread put to sleep while it holds a lock
/// would stop them all.
final class CatalogUsers: Sendable {
    /// The number of users; plus `shut` once no more may enter.
    private let count = Atomic(0)
    private static let shut = 1 << 40

    /// ``leave()`` must follow.
    func enter(_ path: String) throws(CatalogError) {
        guard count.add(1, ordering: .acquiring).newValue >= Self.shut else { return }
        leave()
        throw CatalogError(.system, "\(path): is closed")
    }

    func leave() { count.subtract(1, ordering: .releasing) }

    /// Admits no more users; returns when all have left.
    func shut() {
        // Closing twice changes nothing.
        if count.load(ordering: .relaxed) < Self.shut { count.add(Self.shut, ordering: .acquiringAndReleasing) }
        while count.load(ordering: .acquiring) % Self.shut > 0 { usleep(1_000) }
    }
}
