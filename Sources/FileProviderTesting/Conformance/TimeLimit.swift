import Synchronization

/// Runs `body`, and cancels and abandons it when it takes longer than `limit`.
///
/// A task group would wait for the abandoned body, which may hang for ever.
func withTimeLimit<Value: Sendable>(
    _ limit: Duration, error: @escaping @Sendable () -> any Error,
    body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let race = Race<Value>()
    let work = Task {
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        race.finish(result)
    }
    let timer = Task {
        // Cancelled when the work is done.
        guard (try? await Task.sleep(for: limit)) != nil else { return }
        race.finish(.failure(error()))
    }
    defer {
        work.cancel()
        timer.cancel()
    }
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { race.wait($0) }
    } onCancel: {
        work.cancel()
    }
}

/// The first result wins.
private final class Race<Value: Sendable>: Sendable {
    private enum State {
        case running
        case waiting(CheckedContinuation<Value, any Error>)
        case finished(Result<Value, any Error>)
        case over
    }
    private let state = Mutex(State.running)

    func wait(_ continuation: CheckedContinuation<Value, any Error>) {
        let result = state.withLock { state -> Result<Value, any Error>? in
            if case .finished(let result) = state {
                state = .over
                return result
            }
            state = .waiting(continuation)
            return nil
        }
        if let result { continuation.resume(with: result) }
    }

    func finish(_ result: Result<Value, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            switch state {
            case .running: state = .finished(result)
            case .waiting(let continuation):
                state = .over
                return continuation
            case .finished, .over: break
            }
            return nil
        }
        continuation?.resume(with: result)
    }
}
