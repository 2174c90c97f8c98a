import FUSE
import FileProvider
import Logging
package import SyncEngine
package import Volume

/// FUSE requests in, volume calls out: decodes, dispatches, replies. Nothing is decided here.
package final class MountFrontend: FUSEFileSystem {
    let volume: Volume
    private let workers: Workers

    package init(volume: Volume, workers: Workers) {
        self.volume = volume
        self.workers = workers
    }

    /// Answers a request from a call: at once when the volume can, else from a Task when what it lacks
    /// has come. An interrupt cancels the Task.
    func answer<Value>(
        _ request: consuming FUSERequest, _ call: @escaping @Sendable () throws(VolumeError) -> Outcome<Value>,
        _ reply: @escaping @Sendable (consuming FUSERequest, Value) -> Void
    ) {
        do {
            switch try call() {
            case .ready(let value): reply(request, value)
            case .wait(let wait): answer(FUSEPendingRequest(request), after: wait, call, reply)
            }
        } catch {
            volume.tell(error)
            request.reply(errno: error.errno)
        }
    }

    private func answer<Value>(
        _ pending: FUSEPendingRequest, after first: Wait,
        _ call: @escaping @Sendable () throws(VolumeError) -> Outcome<Value>,
        _ reply: @escaping @Sendable (consuming FUSERequest, Value) -> Void
    ) {
        let task = Task(executorPreference: workers) { [volume] in
            var wait = first
            do {
                while true {
                    try await wait.run()
                    try Task.checkCancellation()
                    switch try call() {
                    case .ready(let value):
                        if let request = pending.take() { reply(request, value) }
                        return
                    case .wait(let next): wait = next
                    }
                }
            } catch {
                var errno: Int32 = 4 /* EINTR */
                if !(error is CancellationError) {
                    let failure = VolumeError(error)
                    volume.tell(failure)
                    errno = failure.errno
                }
                if let request = pending.take() { request.reply(errno: errno) }
            }
        }
        pending.onInterrupt { task.cancel() }
    }

    /// For calls that never wait.
    func answerNow<Value>(
        _ request: consuming FUSERequest, _ call: () throws(VolumeError) -> Value,
        _ reply: (consuming FUSERequest, Value) -> Void
    ) {
        do {
            let value = try call()
            reply(request, value)
        } catch {
            volume.tell(error)
            request.reply(errno: error.errno)
        }
    }
}
