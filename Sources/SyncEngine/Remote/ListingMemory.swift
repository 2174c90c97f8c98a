import CLinux
import ItemCatalog
import Locking
import Trees

/// Returns the memory of long listings to the system: the C library keeps freed memory, and the catalog's connections
/// keep the pages they have read. Without this, a daemon that once listed 100,000 documents would hold that memory for
/// ever.
///
/// Source: malloc_trim(3).
final class ListingMemory: Sendable {
    private struct State {
        /// Items listed since the last trim.
        var items = 0
        var isPlanned = false
    }
    private let state = AdaptiveMutex(State())
    private let workers: Workers
    private let catalog: Catalog

    /// Fewer items are not worth a trim.
    private static let many = 5_000
    /// A pause this long ends a walk, which lists one folder after another.
    private static let pause = Duration.milliseconds(250)

    /// For a program that never stops listing.
    private static let mostPauses = 40

    init(workers: Workers, catalog: Catalog) {
        self.workers = workers
        self.catalog = catalog
    }

    /// A listing was taken and freed, or a program was given a part of one.
    func listed(_ items: Int) {
        let plans = state.withLock { state in
            state.items += items
            guard state.items >= Self.many, !state.isPlanned else { return false }
            state.isPlanned = true
            return true
        }
        guard plans else { return }
        Task(executorPreference: workers) {
            var known = 0
            for _ in 0..<Self.mostPauses {
                try? await Task.sleep(for: Self.pause)
                let isOver = self.state.withLock { state in
                    if state.items != known {
                        known = state.items
                        return false
                    }
                    return true
                }
                if isOver { break }
            }
            self.state.withLock { $0 = State() }
            self.catalog.releaseMemory()
            clinux_trim_memory()
        }
    }
}
