import FileProvider
import Locking

extension SyncContext {
    /// So long may a store that is known to be away take to be back.
    static let patienceWhenAway = Duration.milliseconds(80)

    /// Asking would only keep somebody waiting: the store has accounts, so it is reached over a network, and did not answer the
    /// last time. A store on this machine says at once that it is away.
    var isKnownToBeAway: Bool { connection.knownFailure != nil && provider is any SigningIn }

    /// The store could not be used, but was asked before the user signed in: it is asked once more.
    func isOutdated(_ failure: SyncError, since asked: ContinuousClock.Instant) -> Bool {
        guard case .provider(let error) = failure, StoreConnection.isAway(error.code) else { return false }
        return connection.isOutdated(asked: asked)
    }

    /// The result of `body`, or, while the store is known to be away, at once why nothing can be had from it; then `body`
    /// goes on by itself.
    func unlessAway<T: Sendable>(
        _ body: @escaping @Sendable () async -> Result<T, SyncError>
    ) async -> Result<T, SyncError> {
        guard isKnownToBeAway else { return await body() }
        return await withCheckedContinuation { continuation in
            let first = FirstResult(continuation)
            Task(executorPreference: workers) { first.resume(await body()) }
            Task {
                try? await Task.sleep(for: Self.patienceWhenAway)
                // (Else it is back, or may be, and takes its time.)
                if let failure = self.connection.knownFailure { first.resume(.failure(.provider(failure))) }
            }
        }
    }
}

/// Whoever comes first answers.
private final class FirstResult<T: Sendable>: Sendable {
    private let waiter: AdaptiveMutex<CheckedContinuation<Result<T, SyncError>, Never>?>

    init(_ continuation: CheckedContinuation<Result<T, SyncError>, Never>) { waiter = AdaptiveMutex(continuation) }

    func resume(_ result: Result<T, SyncError>) {
        waiter.withLock { $0.take() }?.resume(returning: result)
    }
}
