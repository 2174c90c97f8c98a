internal import CFUSE
internal import Synchronization

/// Carries a request out of its callback, to be answered later: an escaping closure cannot
/// consume a noncopyable value. Dropped with the request still inside, it answers EIO.
///
/// The locks are always taken in this order: ours, then libfuse's lock of the request.
/// libfuse calls the relay with its own lock held, so that must not take ours: it only hands
/// on to the connection's interrupter thread.
public final class FUSEPendingRequest: Sendable {
    private struct State: ~Copyable {
        var request: FUSERequest?
        var handler: (@Sendable () -> Void)?
        var relay: Unmanaged<Relay>?
        var isInterrupted = false
    }

    /// What libfuse holds on to. It must not keep the pending request alive, or one that is
    /// dropped would never be answered.
    private final class Relay: Sendable {
        private let interrupter: FUSEInterrupter
        private let pending: Mutex<Weak>

        private struct Weak { weak var value: FUSEPendingRequest? }

        init(_ pending: FUSEPendingRequest) {
            interrupter = pending.interrupter
            self.pending = Mutex(Weak(value: pending))
        }

        func fire() {
            interrupter.enqueue { [self] in
                let pending = pending.withLock(\.value)
                pending?.interrupted()
            }
        }
    }

    public let context: FUSEContext
    private let state: Mutex<State>
    private let interrupter: FUSEInterrupter
    // Unsafe: valid only while `state.request` is there, and used only under the lock.
    private nonisolated(unsafe) let raw: fuse_req_t

    public init(_ request: consuming FUSERequest) {
        context = request.context
        raw = request.raw
        interrupter = request.connection.takeUnretainedValue().interrupter
        state = Mutex(State(request: request))
    }

    deinit { _ = take() }

    /// The request, to be answered; nil when someone else has it already. From here on no
    /// interrupt handler is started.
    public func take() -> FUSERequest? {
        state.withLock { state in
            if let relay = state.relay.take() {
                // libfuse's lock sees to it that the relay is neither being called nor will be.
                fuse_req_interrupt_func(raw, nil, nil)
                relay.release()
            }
            state.handler = nil
            return state.request.take()
        }
    }

    /// Runs `handler` once when a signal is about to end the process that asks, soon if one already
    /// is, on a thread of the session. The handler may `take` and answer; it must be quick,
    /// for the handlers of all requests run one after the other. Not started once the request
    /// was taken (one that had begun just then may still be finishing), nor by a signal that the
    /// program handles (see `ThreadSignals`): where the kernel does not show them to us, by any.
    public func onInterrupt(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard state.request != nil else { return }
            state.handler = handler
            if state.relay == nil {
                let relay = Unmanaged.passRetained(Relay(self))
                state.relay = relay
                // Calls at once when the interrupt was here first.
                fuse_req_interrupt_func(
                    raw, { _, relay in Unmanaged<Relay>.fromOpaque(relay!).takeUnretainedValue().fire() },
                    relay.toOpaque())
            } else if state.isInterrupted {
                interrupter.enqueue { [weak self] in self?.interrupted() }
            }
        }
    }

    /// How often the signals are looked at once the kernel has told of the first: of those that come after it, it tells
    /// nobody.
    private static let pause: UInt64 = 40_000_000

    private func interrupted() {
        guard state.withLock({ $0.request != nil }) else { return }
        // (Not under the lock: it takes system calls.)
        if ThreadSignals.look(at: context.pid) == .wait {
            return interrupter.enqueue(after: Self.pause) { [weak self] in self?.interrupted() }
        }
        let handler = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.request != nil else { return nil }
            state.isInterrupted = true
            return state.handler.take()
        }
        handler?()
    }
}
