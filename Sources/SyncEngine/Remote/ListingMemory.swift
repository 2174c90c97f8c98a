import CLinux
import ItemCatalog
import Locking
import Trees

/// What long listings took of the memory goes back to the system: the C library keeps what was freed for itself, and the
/// catalog's connections the pages that they have seen; a daemon that has listed 100,000 documents once would hold for ever
/// what that took.
///
/// Source: malloc_trim(3).
final class ListingMemory: Sendable {
    private struct State {
        /// Listed since the last time.
        var items = 0
        var isPlanned = false
    }
    private let state = AdaptiveMutex(State())
    private let workers: Workers
    private let catalog: Catalog

    /// Below this there is nothing to gain.
    private static let many = 5_000
    /// A walk lists one folder after another; nobody does for so long when it has ended.
    private static let pause = Duration.milliseconds(250)

    /// Somebody may do nothing else.
    private static let mostPauses = 40

    init(workers: Workers, catalog: Catalog) {
        self.workers = workers
        self.catalog = catalog
    }

    /// A listing has been taken, and let go of, or a part of one has been given to a program.
    func took(_ items: Int) {
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
