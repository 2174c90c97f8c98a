import FUSE
import Synchronization

/// A request that waits for something. It can be answered at once at any time while it does, whatever it waits for and
/// however long that takes to notice; not while the call is repeated that may change something: then the program is told
/// what came of it.
final class Waiter: Sendable {
    private struct State {
        var isCalling = false
        /// It is to be answered with this, and waits no more.
        var end: Int32?
        var onEnd: (@Sendable () -> Void)?
    }
    private let state = Mutex(State())
    private let pending: FUSEPendingRequest

    init(_ pending: FUSEPendingRequest) { self.pending = pending }

    /// Runs `body` once it waits no more because of ``giveUp(_:)``: what it waited for need not come for its sake.
    func onEnd(_ body: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            state.onEnd = body
            return state.end != nil
        }
        if isOver { body() }
    }

    /// It is answered with an errno: now, or when the call under way lacks something else.
    ///
    /// - Returns: whether it is this that it was answered with.
    @discardableResult
    func giveUp(_ errno: Int32) -> Bool {
        let (answersNow, onEnd) = state.withLock { state in
            if state.end != nil { return (false, nil as (@Sendable () -> Void)?) }
            state.end = errno
            return (!state.isCalling, state.onEnd)
        }
        // (The task that ends would say something else.)
        let isAnswered = answersNow && pending.take()?.reply(errno: errno) == true
        onEnd?()
        return isAnswered
    }

    /// What it waited for is here.
    ///
    /// - Returns: false: it has been answered.
    func begins() -> Bool {
        state.withLock { state in
            state.isCalling = state.end == nil
            return state.isCalling
        }
    }

    /// The call lacks something else.
    ///
    /// - Returns: false: it has been answered.
    func waits() -> Bool {
        let end = state.withLock { state in
            state.isCalling = false
            return state.end
        }
        guard let end else { return true }
        pending.take()?.reply(errno: end)
        return false
    }
}
