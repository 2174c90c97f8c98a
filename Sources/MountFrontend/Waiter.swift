import FUSE
import Synchronization

/// A request that waits for something. It can be answered at once at any time during the wait; but not during the
/// repeated call, which may change something: then the program gets the result of the call.
final class Waiter: Sendable {
    private struct State {
        var isCalling = false
        /// The errno of a wait that was given up.
        var end: Int32?
        var onEnd: (@Sendable () -> Void)?
    }
    private let state = Mutex(State())
    private let pending: FUSEPendingRequest

    init(_ pending: FUSEPendingRequest) { self.pending = pending }

    /// Runs `body` after ``giveUp(_:)``: the awaited data is not needed for this request any more.
    func onEnd(_ body: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            state.onEnd = body
            return state.end != nil
        }
        if isOver { body() }
    }

    /// Answers with an errno: now, or when the running call must wait again.
    ///
    /// - Returns: whether the request got this answer.
    @discardableResult
    func giveUp(_ errno: Int32) -> Bool {
        let (answersNow, onEnd) = state.withLock { state in
            if state.end != nil { return (false, nil as (@Sendable () -> Void)?) }
            state.end = errno
            return (!state.isCalling, state.onEnd)
        }
        // (The ending task would reply something else.)
        let isAnswered = answersNow && pending.take()?.reply(errno: errno) == true
        onEnd?()
        return isAnswered
    }

    /// The awaited data is here.
    ///
    /// - Returns: false: the request has been answered.
    func begins() -> Bool {
        state.withLock { state in
            state.isCalling = state.end == nil
            return state.isCalling
        }
    }

    /// The call must wait again.
    ///
    /// - Returns: false: the request has been answered.
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
