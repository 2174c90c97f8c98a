package import FileProvider
import ItemCatalog
import Locking

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

/// Asks now and then whether a store that does not answer is back, so that nobody need try.
actor ReturnProbe {
    private let context: SyncContext
    private var task: Task<Void, Never>?
    private var pause: Task<Void, Never>?
    /// Somebody wants it to ask, who may have come while it did not pause.
    private var isUrgent = false
    private var isOver = false
    /// In seconds.
    private static let longest = 30.0

    init(context: SyncContext) { self.context = context }

    /// The store does not answer. Asks until it does.
    func begin() {
        guard task == nil, !isOver else { return }
        task = Task(executorPreference: context.workers) { await self.run() }
    }

    private func run() async {
        var seconds = context.times.firstRetry
        while !isOver, context.connection.failure != nil {
            let pause = Task { [seconds] in _ = try? await Task.sleep(for: .seconds(seconds)) }
            self.pause = pause
            if isUrgent { pause.cancel() }
            await pause.value
            isUrgent = false
            seconds = min(max(seconds, 0.1) * 2, Self.longest)
            if isOver || context.connection.failure == nil { break }
            await context.knock()
        }
        task = nil
    }

    /// Something may be otherwise by now: the network, the password.
    func now() {
        // (It may be about to begin.)
        guard task != nil || context.connection.failure != nil else { return }
        isUrgent = true
        pause?.cancel()
    }

    func end() {
        isOver = true
        pause?.cancel()
        task?.cancel()
    }
}

extension SyncContext {
    /// Asks the store something, so that it is known whether it answers. That it still does not is no event.
    fileprivate func knock() async {
        let asked = ContinuousClock.now
        do throws(FileProviderError) {
            _ = try await provider.providePlaceholder(for: .rootContainer)
        } catch {
            if error.code == .cancelled { return }
            if StoreConnection.isAway(error.code) { return connection.isNotBack(asked: asked) }
        }
        storeAnswered()
    }
}
