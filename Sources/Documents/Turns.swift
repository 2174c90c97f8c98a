import Synchronization

/// Runs operations one after another, in the order of the calls.
@MainActor
final class Turns {
    private var last: Task<Void, Never>?

    /// Decides whether an operation begins or is cancelled before, whichever comes first.
    private final class Start: Sendable {
        private let decision = Mutex<Bool?>(nil)

        /// - Returns: false: the other decision came first.
        func decide(_ begins: Bool) -> Bool {
            decision.withLock { decision in
                decision = decision ?? begins
                return decision == begins
            }
        }
    }

    /// - Throws: errors of `body`; `CancellationError` at once when the task is cancelled before its turn.
    func take<T: Sendable>(_ body: @escaping @MainActor () async throws -> T) async throws -> T {
        let (before, start) = (last, Start())
        let (waiting, turn) = AsyncStream<Void>.makeStream()
        let task = Task { @MainActor in
            await before?.value
            turn.finish()
            guard start.decide(true) else { throw CancellationError() }
            return try await body()
        }
        last = Task { _ = await task.result }
        return try await withTaskCancellationHandler {
            // The stream ends with the turn, or with this task.
            for await _ in waiting {}
            if Task.isCancelled, start.decide(false) { throw CancellationError() }
            return try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}

/// The listeners to a document's notifications.
final class Listeners: Sendable {
    private struct State {
        var all: [Int: AsyncStream<DocumentNotification>.Continuation] = [:]
        var next = 0
    }
    private let state = Mutex(State())
    private static let most = 1_000

    func add() -> AsyncStream<DocumentNotification> {
        let (stream, continuation) = AsyncStream<DocumentNotification>.makeStream(
            bufferingPolicy: .bufferingNewest(Self.most))
        let number = state.withLock { state in
            state.next += 1
            state.all[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.all.removeValue(forKey: number) }
        }
        return stream
    }

    func tell(_ notification: DocumentNotification) {
        for listener in state.withLock({ $0.all.values.map(\.self) }) { listener.yield(notification) }
    }

    func finish() {
        let all = state.withLock { state in
            defer { state.all = [:] }
            return state.all.values.map(\.self)
        }
        for listener in all { listener.finish() }
    }
}
