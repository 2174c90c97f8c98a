import Locking

/// Whoever comes first answers: what was asked, the end of the time for it, a cancellation.
final class FirstAnswer<Answer: Sendable>: Sendable {
    private enum State {
        case new
        case waiting(CheckedContinuation<Answer, Never>)
        case answered(Answer)
    }
    private let state = AdaptiveMutex(State.new)

    /// Returns at once when somebody has answered before. Once only.
    func wait() async -> Answer {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Answer? in
                if case .answered(let answer) = state { return answer }
                state = .waiting(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    func resume(_ answer: Answer) {
        let waiter = state.withLock { state -> CheckedContinuation<Answer, Never>? in
            switch state {
            case .new:
                state = .answered(answer)
                return nil
            case .waiting(let continuation):
                state = .answered(answer)
                return continuation
            case .answered: return nil
            }
        }
        waiter?.resume(returning: answer)
    }

    /// What `ask` answers; nil when it does not within the limit, or this task is cancelled. `ask` is cancelled then, and is not
    /// waited for: a provider need not heed it.
    static func of<T>(
        within limit: Duration, on workers: Workers, _ ask: @escaping @Sendable () async -> T
    ) async -> T? where Answer == T? {
        let first = FirstAnswer<T?>()
        let asking = Task(executorPreference: workers) { first.resume(await ask()) }
        let timer = Task {
            if (try? await Task.sleep(for: limit)) != nil { first.resume(nil) }
        }
        defer {
            asking.cancel()
            timer.cancel()
        }
        return await withTaskCancellationHandler {
            await first.wait()
        } onCancel: {
            first.resume(nil)
        }
    }
}
