package import FileProvider
import ItemCatalog
import Locking
import Trees

/// Whether the store answers, since when, and if not, why.
package final class StoreConnection: Sendable {
    package struct State: Sendable {
        /// Why the last call got no answer, or was refused as not authenticated; nil: the store answers, as far as is
        /// known.
        package var failure: FileProviderError?
        /// The moment of the last change; nil: nobody has asked yet.
        package var since: FileTime?
        /// A probe failed too, since the store was lost (while it answers: since it was lost last).
        fileprivate var isLossSure = false
        /// The user has signed in again since the failure, and nobody has asked the store since.
        fileprivate var mayBeBack = false
        /// When the user signed in last.
        fileprivate var signedIn: ContinuousClock.Instant?

        /// Whether a question asked at this moment was asked before the last sign-in.
        fileprivate func isOutdated(_ asked: ContinuousClock.Instant) -> Bool { signedIn.map { asked < $0 } ?? false }
    }
    private let current = AdaptiveMutex(State())
    package init() {}

    package var state: State { current.withLock { $0 } }

    /// Why the store cannot be used now.
    package var failure: FileProviderError? { current.withLock { $0.failure } }

    /// The failure, unless a sign-in since then may have ended it.
    var knownFailure: FileProviderError? { current.withLock { $0.mayBeBack ? nil : $0.failure } }

    /// Whether the store was really away, or is: not only the one request that failed.
    var wasAway: Bool { current.withLock { $0.isLossSure } }

    func mayBeBack() {
        current.withLock { state in
            state.mayBeBack = state.failure != nil
            state.signedIn = .now
        }
    }

    /// A probe that began at `asked` failed as the request before it.
    func isNotBack(asked: ContinuousClock.Instant) {
        current.withLock { state in
            state.isLossSure = true
            state.mayBeBack = state.mayBeBack && state.isOutdated(asked)
        }
    }

    /// Whether the user has signed in since the question: then its refusal no longer counts.
    func isOutdated(asked: ContinuousClock.Instant) -> Bool { current.withLock { $0.isOutdated(asked) } }

    /// Whether the code means that the store can serve no request at all.
    static func isAway(_ code: FileProviderError.Code) -> Bool {
        code == .serverUnreachable || code == .notAuthenticated
    }

    /// - Returns: whether the failure is news.
    func failed(_ error: FileProviderError, asked: ContinuousClock.Instant) -> Bool {
        current.withLock { state in
            let isNews = state.failure?.code != error.code
            if state.failure == nil {
                state.since = .now
                state.isLossSure = false
            }
            state.failure = error
            state.mayBeBack = state.isOutdated(asked)
            return isNews
        }
    }

    /// - Returns: whether the answer is news.
    func answered() -> Bool {
        current.withLock { state in
            let wasAway = state.failure != nil
            if wasAway || state.since == nil { state.since = .now }
            state.failure = nil
            state.mayBeBack = false
            return wasAway
        }
    }
}
