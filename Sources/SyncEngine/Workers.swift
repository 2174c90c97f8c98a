import NIOPosix

/// Threads for work that may block on the local disk or on SQLite, so that the cooperative pool (one
/// thread a core) never does.
///
/// `Task(executorPreference: workers)` runs a task and the nonisolated functions it calls on them.
package final class Workers: TaskExecutor {
    private let pool: NIOThreadPool

    package init(threads: Int) {
        pool = NIOThreadPool(numberOfThreads: threads)
        pool.start()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.submit { _ in job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
