import ChildProcess
import NIOPosix

/// Off the cooperative pool: the disk may be slow, and GLib's calls block.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await NIOThreadPool.singleton.runIfActive(body)
}

/// The same for what runs programs: if the task is cancelled, these are ended, and it throws `CancellationError`.
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
