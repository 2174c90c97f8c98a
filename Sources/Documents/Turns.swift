import Synchronization
import Waiting

/// Runs operations one after another, in the order of the calls.
@MainActor
final class Turns {
    private let lane = AsyncSemaphore(1)

    /// - Throws: what `body` does; `CancellationError` at once when the task is cancelled before its turn comes.
    func take<T>(_ body: @MainActor () async throws -> T) async throws -> T {
        try await lane.enter()
        defer { lane.leave() }
        return try await body()
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

    func post(_ notification: DocumentNotification) {
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
