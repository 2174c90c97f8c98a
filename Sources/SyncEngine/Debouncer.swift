import Synchronization

/// Work that nobody waits for, a moment later: once for all that has come until then.
package final class Debouncer: Sendable {
    private let isPlanned = Atomic(false)
    private let workers: Workers
    private static let pause = Duration.milliseconds(10)

    package init(workers: Workers) { self.workers = workers }

    /// Note what is to be done first: `body` does all that is noted when it begins. Never blocks.
    package func plan(_ body: @escaping @Sendable () -> Void) {
        if isPlanned.exchange(true, ordering: .sequentiallyConsistent) { return }
        Task(executorPreference: workers) {
            try? await Task.sleep(for: Self.pause)
            // Whoever comes from now on needs another one.
            self.isPlanned.store(false, ordering: .sequentiallyConsistent)
            body()
        }
    }
}
