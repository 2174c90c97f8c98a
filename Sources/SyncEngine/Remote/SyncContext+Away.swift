import FileProvider
import Waiting

extension SyncContext {
    /// So long may a store that is known to be away take to be back.
    static let patienceWhenAway = Duration.milliseconds(80)

    /// Asking would only keep somebody waiting: the store has accounts, so it is reached over a network, and did not answer the
    /// last time. A store on this machine says at once that it is away.
    var isKnownToBeAway: Bool { connection.knownFailure != nil && client.hasAccounts }

    /// The store could not be used, but was asked before the user signed in: it is asked once more.
    func isOutdated(_ failure: SyncError, since asked: ContinuousClock.Instant) -> Bool {
        guard case .provider(let error) = failure, StoreConnection.isAway(error.code) else { return false }
        return connection.isOutdated(asked: asked)
    }

    /// The result of a task that others may wait for as well. Whoever is cancelled waits no longer; the task goes on.
    ///
    /// - Parameter unlessAway: while the store is known to be away, the answer is at once why nothing can be had from it.
    func result<T: Sendable>(
        of task: Task<Result<T, SyncError>, Never>, unlessAway: Bool
    ) async -> Result<T, SyncError> {
        let first = FirstAnswer<Result<T, SyncError>>()
        let isAway = unlessAway && isKnownToBeAway
        Task(executorPreference: workers) { first.resume(await task.value) }
        if isAway {
            Task {
                try? await Task.sleep(for: Self.patienceWhenAway)
                // (Else it is back, or may be, and takes its time.)
                if let failure = self.connection.knownFailure { first.resume(.failure(.provider(failure))) }
            }
        }
        return await first.wait(otherwise: .failure(.cancelled))
    }
}
