import FUSE
import FileProvider
import Glibc
package import SyncEngine
import Volume

/// Turns FUSE requests into calls of the volume: decodes, dispatches, replies. It makes no decisions: its view says what the
/// mount shows and permits.
package final class MountFrontend: FUSEFileSystem {
    let view: any MountView
    let volume: Volume
    let isCached: Bool
    private let workers: Workers

    package init(showing view: any MountView, workers: Workers) {
        self.view = view
        volume = view.volume
        isCached = view.isCached
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
            volume.logIfIOError(error)
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
                        if waiter.giveUp(ETIMEDOUT) { volume.logTimeout(after: begun.duration(to: .now)) }
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
                volume.logIfIOError(failure)
                request.reply(errno: failure.errno)
            }
        }
        waiter.onEnd { task.cancel() }
        pending.onInterrupt { _ = waiter.giveUp(EINTR) }
    }

    /// As ``answer(_:_:_:)``, for a call that changes something.
    func change<Value: Sendable>(
        _ request: consuming FUSERequest, _ call: @escaping @Sendable () throws(VolumeError) -> Outcome<Value>,
        _ reply: @escaping @Sendable (consuming FUSERequest, Value) -> Void
    ) {
        answer(request, call) { [self] request, value in settle(request, value, reply) }
    }

    /// As ``answerNow(_:_:_:)``, for a call that changes something.
    func changeNow<Value: Sendable>(
        _ request: consuming FUSERequest, _ call: () throws(VolumeError) -> Value,
        _ reply: @escaping @Sendable (consuming FUSERequest, Value) -> Void
    ) {
        answerNow(request, call) { request, value in settle(request, value, reply) }
    }

    /// Replies when others see what was changed, or a signal ends the program.
    private func settle<Value: Sendable>(
        _ request: consuming FUSERequest, _ value: Value,
        _ reply: @escaping @Sendable (consuming FUSERequest, Value) -> Void
    ) {
        guard let settling = view.settling() else { return reply(request, value) }
        let pending = FUSEPendingRequest(request)
        Task(executorPreference: workers) {
            await settling()
            if let request = pending.take() { reply(request, value) }
        }
        pending.onInterrupt { [weak pending] in
            if let request = pending?.take() { reply(request, value) }
        }
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
            volume.logIfIOError(error)
            request.reply(errno: error.errno)
        }
    }
}
