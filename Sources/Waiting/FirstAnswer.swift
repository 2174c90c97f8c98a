import Synchronization

/// Returns the first of several answers: the result, a time-out, or a cancellation. Unlike a task group, it does not
/// wait for the others, which may ignore that they are cancelled.
package final class FirstAnswer<Answer: Sendable>: Sendable {
    private enum State {
        case new
        case waiting(CheckedContinuation<Answer, Never>)
        case answered(Answer)
    }
    private let state = Mutex(State.new)

    package init() {}

    /// Returns at once if there is an answer already. Call only once.
    package func wait() async -> Answer {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Answer? in
                if case .answered(let answer) = state { return answer }
                state = .waiting(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// - Parameters:
    ///   - limit: nil: no limit.
    ///   - other: the answer when the limit has passed, or this task is cancelled.
    package func wait(within limit: Duration? = nil, otherwise other: Answer) async -> Answer {
        let timer = limit.map { limit in
            Task { if (try? await Task.sleep(for: limit)) != nil { resume(other) } }
        }
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await wait()
        } onCancel: {
            resume(other)
        }
    }

    /// From any thread. Only the first call counts.
    package func resume(_ answer: Answer) {
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

    /// The answer of `ask`; nil when none comes within the limit, or this task is cancelled. Then `ask` is cancelled,
    /// but not waited for.
    package static func of<T>(
        within limit: Duration, on executor: (any TaskExecutor)? = nil, _ ask: @escaping @Sendable () async -> T
    ) async -> T? where Answer == T? {
        let first = FirstAnswer<T?>()
        let asking = Task(executorPreference: executor) { first.resume(await ask()) }
        defer { asking.cancel() }
        return await first.wait(within: limit, otherwise: nil)
    }
}
