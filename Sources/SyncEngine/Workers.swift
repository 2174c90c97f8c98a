import NIOPosix

/// Threads for work that may block on the local disk or on SQLite, which the cooperative pool (one thread per core)
/// must not do.
///
/// `Task(executorPreference: workers)` runs a task, and the nonisolated functions that it calls, on these threads.
package final class Workers: TaskExecutor {
    /// Runs a job at some time, as a job of this executor.
    package typealias Running = @Sendable (UnownedJob, UnownedTaskExecutor) -> Void
    private enum Kind {
        case threads(NIOThreadPool)
        case test(Running)
    }
    private let kind: Kind

    package init(threads: Int) {
        let pool = NIOThreadPool(numberOfThreads: threads)
        pool.start()
        kind = .threads(pool)
    }

    /// An executor without threads: a test decides which job runs when.
    package init(running: @escaping Running) { kind = .test(running) }

    /// Ends the threads. No job is left: each job retains its executor.
    deinit { if case .threads(let pool) = kind { pool.shutdownGracefully { _ in } } }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        switch kind {
        case .threads(let pool): pool.submit { _ in job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        case .test(let run): run(job, asUnownedTaskExecutor())
        }
    }
}
