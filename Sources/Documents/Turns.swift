import Synchronization

/// One thing after another, in the order in which they were asked for.
@MainActor
final class Turns {
    private var last: Task<Void, Never>?

    func take<T: Sendable>(_ body: @escaping @MainActor () async throws -> T) async throws -> T {
        let before = last
        let task = Task { @MainActor in
            await before?.value
            return try await body()
        }
        last = Task { _ = await task.result }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}

/// Those who want to hear what happens to a document.
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
