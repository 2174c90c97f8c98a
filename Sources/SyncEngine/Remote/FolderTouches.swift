import ItemCatalog
import Synchronization

/// Counts our own confirmed changes in each folder, so that a listing that was under way meanwhile is
/// known to be stale and asked for again.
final class FolderTouches: Sendable {
    private let counts = Mutex<[ItemID: UInt64]>([:])

    func count(_ folder: ItemID) -> UInt64 { counts.withLock { $0[folder, default: 0] } }

    func touch(_ folder: ItemID?) {
        guard let folder else { return }
        counts.withLock { $0[folder, default: 0] += 1 }
    }
}
