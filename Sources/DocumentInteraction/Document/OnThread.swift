import ChildProcess
import NIOPosix

/// Runs a body on a thread of its own, off the cooperative pool, because the disk may be slow, and GLib's calls block.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await NIOThreadPool.singleton.runIfActive(body)
}

/// As ``onThread(_:)``, for a body that runs programs: if the task is cancelled, ends these, and throws
/// `CancellationError`.
func onThread<T: Sendable>(_ body: @escaping @Sendable (ChildProcess.Stop) throws -> T) async throws -> T {
    let stop = ChildProcess.Stop()
    return try await withTaskCancellationHandler {
        try await NIOThreadPool.singleton.runIfActive {
            let made = try body(stop)
            if stop.isSet { throw CancellationError() }
            return made
        }
    } onCancel: {
        stop.set()
    }
}
