import Foundation
import Synchronization
import Trees

/// Who is at work in a catalog: it is not closed under anybody, which GRDB does not forgive.
///
/// A number and no lock: every look comes by here, on many threads, and one that is put to sleep with a lock in its hand
/// stops them all.
final class CatalogUsers: Sendable {
    /// How many; and `shut` more once nobody may come in.
    private let count = Atomic(0)
    private static let shut = 1 << 40

    /// ``leave()`` is to follow.
    func enter(_ path: String) throws(CatalogError) {
        guard count.add(1, ordering: .acquiring).newValue >= Self.shut else { return }
        leave()
        throw CatalogError(.system, "\(path): is closed")
    }

    func leave() { count.subtract(1, ordering: .releasing) }

    /// Nobody comes in any more; returns when all have left.
    func shut() {
        // (Whoever closes it again changes nothing.)
        if count.load(ordering: .relaxed) < Self.shut { count.add(Self.shut, ordering: .acquiringAndReleasing) }
        while count.load(ordering: .acquiring) % Self.shut > 0 { usleep(1_000) }
    }
}
