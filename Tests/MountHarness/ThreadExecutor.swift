import Foundation
import Synchronization

/// A thread for a task that blocks: scenarios access the mount with plain system calls, which must never happen on the
/// cooperative pool (one thread per core).
package final class ThreadExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isOver = false
    }
    private let state = Mutex(State())
    private let arrived = DispatchSemaphore(value: 0)
    private static let mark = "scenario"

    /// Whether this code runs on such a thread.
    package static var isCurrent: Bool { Thread.current.threadDictionary[mark] != nil }

    package init() {
        let thread = Thread { [self] in work() }
        thread.stackSize = 4 << 20
        thread.start()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
        arrived.signal()
    }

    /// Ends the thread when the enqueued jobs have run.
    package func finish() {
        state.withLock { $0.isOver = true }
        arrived.signal()
    }

    private func work() {
        Thread.current.threadDictionary[Self.mark] = true
        while true {
            arrived.wait()
            let (job, isOver) = state.withLock { state in
                (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.isOver)
            }
            if let job { job.runSynchronously(on: asUnownedTaskExecutor()) } else if isOver { return }
        }
    }
}

/// Runs `body` on a thread of its own, with the task-local values (which identify the test).
package func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    let executor = ThreadExecutor()
    defer { executor.finish() }
    return try await Task(executorPreference: executor) { try body() }.value
}
