import FileProvider
import Locking
import Trees

/// Changes that fail as if the store were away while it answers all other requests: a proxy gives up on a long upload
/// (504), or a server closes the connection on too large a body. An answer from the store is no reason to send these
/// again at once: each has its own wait, which doubles.
final class LoneFailures: Sendable {
    private struct Failure {
        /// How often in a row the change failed although the store had answered since the failure before.
        var count = 0
        /// How often the store had returned by the last failure.
        var returns: Int
    }
    private struct State {
        var failures: [ItemID: Failure] = [:]
        var returns = 0
    }
    private let state = AdaptiveMutex(State())

    /// Notes that a change has failed as if the store were away.
    ///
    /// - Returns: how often in a row the change has failed alone.
    @discardableResult
    func failed(_ item: ItemID) -> Int {
        state.withLock { state in
            var failure = state.failures[item] ?? Failure(returns: state.returns)
            if failure.returns != state.returns { failure.count += 1 }
            failure.returns = state.returns
            state.failures[item] = failure
            return failure.count
        }
    }

    /// The change was sent, or failed otherwise.
    func ended(_ item: ItemID) { state.withLock { $0.failures[item] = nil } }

    /// Notes that the store answers again.
    ///
    /// - Parameter wasAway: other requests failed as well, so these failures were not the changes' own: on a network that
    ///   comes and goes a long upload is sent again at once, each time.
    /// - Returns: the changes that failed alone, each with its number of failures in a row.
    func storeReturned(wasAway: Bool) -> [ItemID: Int] {
        state.withLock { state in
            if wasAway {
                let returns = state.returns
                state.failures = state.failures.filter { $0.value.returns != returns }
            } else {
                state.returns += 1
            }
            return state.failures.compactMapValues { $0.count > 0 ? $0.count : nil }
        }
    }
}
