import Waiting

/// Runs `body`, and cancels and abandons it when it takes longer than `limit`.
///
/// A task group would wait for the abandoned body, which may hang for ever.
func withTimeLimit<Value: Sendable>(
    _ limit: Duration, error: @escaping @Sendable () -> any Error,
    body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let first = FirstAnswer<Result<Value, any Error>>()
    let work = Task {
        do { first.resume(.success(try await body())) } catch { first.resume(.failure(error)) }
    }
    let timer = Task {
        // Cancelled when the work is done.
        if (try? await Task.sleep(for: limit)) != nil { first.resume(.failure(error())) }
    }
    defer {
        work.cancel()
        timer.cancel()
    }
    return try await withTaskCancellationHandler {
        try await first.wait().get()
    } onCancel: {
        work.cancel()
    }
}
