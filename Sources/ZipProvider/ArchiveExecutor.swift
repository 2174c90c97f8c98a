import Dispatch

/// Runs an actor on a dispatch queue of its own. libzip blocks on the disk and computes; on Swift's cooperative pool,
/// which has one thread for each core, it would hold up other tasks.
final class ArchiveExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) { queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
