import FileProvider
import Synchronization

/// Sends each signal to every stream in use.
final class SignalHub: Sendable {
    private struct State {
        var next = 0
        var continuations: [Int: AsyncStream<ChangeSignal>.Continuation] = [:]
    }
    private let state = Mutex(State())

    func stream() -> AsyncStream<ChangeSignal> {
        let (stream, continuation) = AsyncStream.makeStream(of: ChangeSignal.self)
        let key = state.withLock { state in
            state.next += 1
            state.continuations[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.continuations.removeValue(forKey: key) }
        }
        return stream
    }

    func send(_ signals: [ChangeSignal]) {
        let continuations = state.withLock { Array($0.continuations.values) }
        for continuation in continuations {
            for signal in signals { continuation.yield(signal) }
        }
    }

    /// The number of streams in use.
    var listenerCount: Int { state.withLock { $0.continuations.count } }

    deinit {
        for continuation in state.withLock({ $0.continuations.values }) { continuation.finish() }
    }
}
