internal import CFUSE
internal import Glibc

/// The threads that take requests from the kernel and carry them out.
///
/// Not `fuse_session_loop_mt`: that one ends only when a request comes, and whatever would
/// make the kernel send one either touches the mount or is refused by newer kernels
/// (NOTIFY_RETRIEVE on a folder: EINVAL). Ours ends its threads as that one does, by
/// cancelling their `read`. They all wait from the start; the kernel wakes one a request.
final class FUSELoop: Sendable {
    private struct State {
        var isStopped = false
        /// Of the first thread that ended on an error.
        var error: Int32 = 0
    }

    private let monitor = Monitor(State())

    /// Until the mount is gone, an error, or `stop`; then all threads have ended. Returns 0 or
    /// a positive errno.
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
        // Whoever waits in `read` goes; whoever answers a request finishes it first.
        for index in 0..<started { pthread_cancel(workers[index].thread) }
        for index in 0..<started { hydrant_worker_join(workers + index) }
        return error
    }

    /// From any thread.
    func stop() { end(0) }

    private func end(_ result: Int32) {
        monitor.withLock { state in
            if !state.isStopped { state.error = -result }
            state.isStopped = true
        }
    }
}
