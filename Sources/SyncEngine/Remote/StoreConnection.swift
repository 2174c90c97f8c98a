package import FileProvider
import ItemCatalog
import Synchronization

/// Whether the store answers, since when, and if not, why.
package final class StoreConnection: Sendable {
    package struct State: Sendable {
        /// The last answer was that there is none, or that we may not come in; nil: it answers, as far as is known.
        package var failure: FileProviderError?
        /// Since when it is so; nil: nobody has asked yet.
        package var since: FileTime?
    }
    private let current = Mutex(State())
    package init() {}

    package var state: State { current.withLock { $0 } }

    /// Why nothing can be had from the store just now.
    package var failure: FileProviderError? { current.withLock { $0.failure } }

    /// What means that nothing can be had, whatever one asks for.
    static func isAway(_ code: FileProviderError.Code) -> Bool {
        code == .serverUnreachable || code == .notAuthenticated
    }

    /// - Returns: whether that is news.
    func failed(_ error: FileProviderError) -> Bool {
        current.withLock { state in
            let isNews = state.failure?.code != error.code
            if state.failure == nil { state.since = .now }
            state.failure = error
            return isNews
        }
    }

    /// - Returns: whether that is news.
    func answered() -> Bool {
        current.withLock { state in
            let wasAway = state.failure != nil
            if wasAway || state.since == nil { state.since = .now }
            state.failure = nil
            return wasAway
        }
    }
}

/// Asks now and then whether a store that does not answer is back, so that nobody need try.
actor ReturnProbe {
    private let context: SyncContext
    private var task: Task<Void, Never>?
    private var hurry: AsyncStream<Void>.Continuation?
    /// In seconds.
    private static let longest = 30.0

    init(context: SyncContext) { self.context = context }

    /// The store does not answer. Asks until it does.
    func begin() {
        guard task == nil else { return }
        let (hurries, hurry) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.hurry = hurry
        task = Task(executorPreference: context.workers) { [weak self, context] in
            var pause = context.times.firstRetry
            while !Task.isCancelled, context.connection.failure != nil {
                await Self.wait(pause, hurries)
                pause = min(pause * 2, Self.longest)
                guard !Task.isCancelled, context.connection.failure != nil else { break }
                _ = try? await context.told(.providePlaceholder, .rootContainer, at: "") {
                    () async throws(FileProviderError) in
                    try await context.provider.providePlaceholder(for: .rootContainer)
                }
            }
            await self?.ended()
        }
    }

    private static func wait(_ seconds: Double, _ hurries: AsyncStream<Void>) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: .seconds(seconds)) }
            group.addTask { for await _ in hurries { break } }
            await group.next()
            group.cancelAll()
        }
    }

    private func ended() {
        task = nil
        hurry = nil
        if context.connection.failure != nil, !isOver { begin() }
    }

    private var isOver = false

    /// Something may be otherwise by now: the network, the password.
    func now() { hurry?.yield() }

    func end() {
        isOver = true
        task?.cancel()
        hurry?.finish()
    }
}
