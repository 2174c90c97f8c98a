import FUSE
import FileProvider
import Glibc
package import SyncEngine
package import Volume

/// Turns FUSE requests into calls of the volume: decodes, dispatches, replies. It makes no decisions.
package final class MountFrontend: FUSEFileSystem {
    let volume: Volume
    private let workers: Workers

    package init(volume: Volume, workers: Workers) {
        self.volume = volume
        self.workers = workers
    }

    /// Answers a request from a call: at once if the volume can, else from a Task when the missing data has arrived,
    /// when a signal ends the program, or when the wait has timed out.
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
        let waiter = Waiter(pending)
        let task = Task(executorPreference: workers) { [volume] in
            let begun = SuspendingClock.now
            var wait = first
            do {
                while true {
                    let end = begun + .seconds(wait.limit)
                    let clock = Task {
                        try await Task.sleep(until: end, clock: .suspending)
                        if waiter.giveUp(ETIMEDOUT) { volume.tell(givenUpAfter: begun.duration(to: .now)) }
                    }
                    defer { clock.cancel() }
                    try await wait.run()
                    guard waiter.begins() else { return }
                    switch try call() {
                    case .ready(let value):
                        if let request = pending.take() { reply(request, value) }
                        return
                    case .wait(let next):
                        guard waiter.waits() else { return }
                        wait = next
                    }
                }
            } catch {
                guard let request = pending.take() else { return }
                let failure = VolumeError(error)
                volume.tell(failure)
                request.reply(errno: failure.errno)
            }
        }
        waiter.onEnd { task.cancel() }
        pending.onInterrupt { _ = waiter.giveUp(EINTR) }
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
