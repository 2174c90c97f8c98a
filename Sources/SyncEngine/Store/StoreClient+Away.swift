import FileProvider
import Waiting

extension StoreClient {
    /// How long a store that is known to be away has to answer.
    static let patienceWhenAway = Duration.milliseconds(80)

    /// Whether asking would only make a program wait: the store has accounts, so it is reached over a network, and it
    /// did not answer last time. (A store on this machine says at once that it is away.)
    var isKnownToBeAway: Bool { connection.knownFailure != nil && hasAccounts }

    /// The store was asked before the user signed in, so its refusal does not count: ask once more.
    func isOutdated(_ failure: SyncError, since asked: ContinuousClock.Instant) -> Bool {
        guard case .provider(let error) = failure, StoreConnection.isAway(error.code) else { return false }
        return connection.isOutdated(asked: asked)
    }

    /// The result of a task that others may wait for too. A cancelled caller stops waiting; the task goes on.
    ///
    /// - Parameter unlessAway: while the store is known to be away, returns the reason at once.
    func result<T: Sendable>(
        of task: Task<Result<T, SyncError>, Never>, unlessAway: Bool
    ) async -> Result<T, SyncError> {
        let first = FirstAnswer<Result<T, SyncError>>()
        let isAway = unlessAway && isKnownToBeAway
        Task(executorPreference: workers) { first.resume(await task.value) }
        if isAway {
            Task {
                try? await Task.sleep(for: Self.patienceWhenAway)
                // (Otherwise the store is back, or may be, and takes its time.)
                if let failure = self.connection.knownFailure { first.resume(.failure(.provider(failure))) }
            }
        }
        return await first.wait(otherwise: .failure(.cancelled))
    }
}
