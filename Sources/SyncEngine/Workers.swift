import NIOPosix

/// Threads for work that may block on the local disk or on SQLite, so that the cooperative pool (one
/// thread a core) never does.
///
/// `Task(executorPreference: workers)` runs a task and the nonisolated functions it calls on them.
package final class Workers: TaskExecutor {
    /// Runs a job, some time, as one of this executor's.
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

    /// Without threads of its own: a test decides which job runs when.
    package init(running: @escaping Running) { kind = .test(running) }

    /// The threads end; every job that was to run has, for it holds on to its executor.
    deinit { if case .threads(let pool) = kind { pool.shutdownGracefully { _ in } } }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        switch kind {
        case .threads(let pool): pool.submit { _ in job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        case .test(let run): run(job, asUnownedTaskExecutor())
        }
    }
}
