import Synchronization

/// Runs work a moment later in the background, once for all requests that came in between.
package final class Debouncer: Sendable {
    private let isPlanned = Atomic(false)
    private let workers: Workers
    private static let pause = Duration.milliseconds(10)

    package init(workers: Workers) { self.workers = workers }

    /// Note the work before the call: `body` does all that is noted when it begins. Never blocks.
    package func plan(_ body: @escaping @Sendable () -> Void) {
        if isPlanned.exchange(true, ordering: .sequentiallyConsistent) { return }
        Task(executorPreference: workers) {
            try? await Task.sleep(for: Self.pause)
            // Requests from now on need another run.
            self.isPlanned.store(false, ordering: .sequentiallyConsistent)
            body()
        }
    }
}
