/// Runs interrupt handlers on one thread of its own, because libfuse reports an interrupt
/// while it holds the request's lock, which a handler needs to answer. The thread is started
/// with the first interrupt.
final class FUSEInterrupter: Sendable {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let monitor = Monitor(State())

    func enqueue(_ job: @escaping @Sendable () -> Void) {
        let start = monitor.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard start else { return }
        let monitor = monitor
        // It lives for a second after its last job: interrupts come in crowds or not at all.
        let started = startThread { while let jobs = Self.next(monitor) { for job in jobs { job() } } }
        if !started { monitor.withLock { $0.isRunning = false } }
    }

    private static func next(_ monitor: Monitor<State>) -> [@Sendable () -> Void]? {
        let deadline = monotonicNow() + 1_000_000_000
        return monitor.wait { state in
            if !state.jobs.isEmpty {
                defer { state.jobs = [] }
                return .done(state.jobs)
            }
            if monotonicNow() >= deadline {
                state.isRunning = false
                return .done(nil)
            }
            return .waitUntil(nanoseconds: deadline)
        }
    }
}
