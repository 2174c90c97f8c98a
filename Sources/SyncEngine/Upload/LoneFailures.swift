import FileProvider
import Locking
import Trees

/// Changes that fail as if the store were away while it answers everything else: a proxy that gives up on one long upload
/// (504), a server that closes the connection on what is too large for it. That the store answers is no reason to send
/// these again at once: each keeps a wait of its own, which doubles.
final class LoneFailures: Sendable {
    private struct Failure {
        /// How often in a row it failed although the store had answered since it failed before.
        var count = 0
        /// How often the store had come back when it failed.
        var returns: Int
    }
    private struct State {
        var failures: [ItemID: Failure] = [:]
        var returns = 0
    }
    private let state = AdaptiveMutex(State())

    /// A change has failed as if the store were away.
    ///
    /// - Returns: how often in a row it has failed alone.
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

    /// The store answers again.
    ///
    /// - Returns: the changes that failed alone, and how often in a row.
    func storeReturned() -> [ItemID: Int] {
        state.withLock { state in
            state.returns += 1
            return state.failures.compactMapValues { $0.count > 0 ? $0.count : nil }
        }
    }
}
