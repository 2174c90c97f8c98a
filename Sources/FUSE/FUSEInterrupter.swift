internal import Locking

/// Runs interrupt handlers on a thread of its own, because libfuse reports an interrupt while it holds the request's
/// lock, which a handler needs to reply, and because signals are polled while a request waits. The first interrupt
/// starts the thread.
final class FUSEInterrupter: Sendable {
    private struct Job {
        var due: UInt64
        var body: @Sendable () -> Void
    }
    private struct State {
        var jobs: [Job] = []
        var isRunning = false
    }

    private let monitor = Monitor(State())

    /// - Parameter pause: in nanoseconds.
    func enqueue(after pause: UInt64 = 0, _ body: @escaping @Sendable () -> Void) {
        let job = Job(due: pause == 0 ? 0 : monotonicNow() + pause, body: body)
        let start = monitor.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard start else { return }
        let monitor = monitor
        // It lives for a second after its last job: interrupts come in bursts or not at all.
        let started = startThread { while let jobs = Self.next(monitor) { for job in jobs { job() } } }
        if !started { monitor.withLock { $0.isRunning = false } }
    }

    private static func next(_ monitor: Monitor<State>) -> [@Sendable () -> Void]? {
        let deadline = monotonicNow() + 1_000_000_000
        return monitor.wait { state in
            let now = monotonicNow()
            let due = state.jobs.filter { $0.due <= now }
            if !due.isEmpty {
                state.jobs.removeAll { $0.due <= now }
                return .done(due.map(\.body))
            }
            if state.jobs.isEmpty, now >= deadline {
                state.isRunning = false
                return .done(nil)
            }
            return .waitUntil(nanoseconds: state.jobs.map(\.due).min() ?? deadline)
        }
    }
}
