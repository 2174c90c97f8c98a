package import FileProvider
import ItemCatalog
import Locking
import Trees

/// Whether the store answers, since when, and if not, why.
package final class StoreConnection: Sendable {
    package struct State: Sendable {
        /// The last answer was that there is none, or that we may not come in; nil: it answers, as far as is known.
        package var failure: FileProviderError?
        /// Since when it is so; nil: nobody has asked yet.
        package var since: FileTime?
        /// The user has signed in again since it failed; nobody has asked it since.
        fileprivate var mayBeBack = false
        /// When the user signed in last.
        fileprivate var signedIn: ContinuousClock.Instant?

        /// What was asked then was asked as the user was known before.
        fileprivate func isOutdated(_ asked: ContinuousClock.Instant) -> Bool { signedIn.map { asked < $0 } ?? false }
    }
    private let current = AdaptiveMutex(State())
    package init() {}

    package var state: State { current.withLock { $0 } }

    /// Why nothing can be had from the store just now.
    package var failure: FileProviderError? { current.withLock { $0.failure } }

    /// The same, unless something has happened since that may have made it otherwise.
    var knownFailure: FileProviderError? { current.withLock { $0.mayBeBack ? nil : $0.failure } }

    func mayBeBack() {
        current.withLock { state in
            state.mayBeBack = state.failure != nil
            state.signedIn = .now
        }
    }

    /// Somebody asked at `asked`; what it failed with before is not news.
    func isNotBack(asked: ContinuousClock.Instant) {
        current.withLock { state in state.mayBeBack = state.mayBeBack && state.isOutdated(asked) }
    }

    /// The user has signed in since the store was asked: the refusal says nothing of what it says now.
    func isOutdated(asked: ContinuousClock.Instant) -> Bool { current.withLock { $0.isOutdated(asked) } }

    /// What means that nothing can be had, whatever one asks for.
    static func isAway(_ code: FileProviderError.Code) -> Bool {
        code == .serverUnreachable || code == .notAuthenticated
    }

    /// - Returns: whether that is news.
    func failed(_ error: FileProviderError, asked: ContinuousClock.Instant) -> Bool {
        current.withLock { state in
            let isNews = state.failure?.code != error.code
            if state.failure == nil { state.since = .now }
            state.failure = error
            state.mayBeBack = state.isOutdated(asked)
            return isNews
        }
    }

    /// - Returns: whether that is news.
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
