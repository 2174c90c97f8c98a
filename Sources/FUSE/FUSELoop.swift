internal import CFUSE
internal import Glibc
internal import Locking

/// The threads that read requests from the kernel and process them.
///
/// Not `fuse_session_loop_mt`: that one ends only when a request arrives, and every way to make the kernel send one
/// either touches the mount or is refused by newer kernels (NOTIFY_RETRIEVE on a folder: EINVAL). This loop ends its
/// threads in the same way, by cancelling their `read`. All threads wait from the start; the kernel wakes one for each
/// request.
final class FUSELoop: Sendable {
    private struct State {
        var isStopped = false
        /// The errno of the first thread that failed.
        var error: Int32 = 0
    }

    private let monitor = Monitor(State())

    /// Runs until the unmount, an error, or `stop`; then all threads have ended. Returns 0 or a positive errno.
    func run(_ connection: FUSEConnection, threads: Int) -> Int32 {
        let count = max(threads, 1)
        let workers = UnsafeMutablePointer<hydrant_worker>.allocate(capacity: count)
        defer { workers.deallocate() }
        var started = 0
        for index in 0..<count {
            workers[index] = hydrant_worker()
            workers[index].session = connection.session
            workers[index].context = Unmanaged.passUnretained(self).toOpaque()
            workers[index].ended = { loop, result in
                Unmanaged<FUSELoop>.fromOpaque(loop!).takeUnretainedValue().end(result)
            }
            let result = hydrant_worker_start(workers + index)
            if result == 0 { started += 1 } else { break }
        }
        guard started > 0 else { return EAGAIN }

        let error = monitor.wait { $0.isStopped ? .done($0.error) : .wait }
        fuse_session_exit(connection.session)
        // Threads waiting in `read` end at once; threads processing a request finish it first.
        for index in 0..<started { pthread_cancel(workers[index].thread) }
        for index in 0..<started { hydrant_worker_join(workers + index) }
        connection.ring.stopServing()
        return error
    }

    /// Any thread may call it.
    func stop() { end(0) }

    /// - Parameter error: an errno, which `run` returns.
    func stop(error: Int32) { end(-error) }

    private func end(_ result: Int32) {
        monitor.withLock { state in
            if !state.isStopped { state.error = -result }
            state.isStopped = true
        }
    }
}
