internal import CFUSE
internal import Synchronization

/// Keeps a request for a later reply, outside its callback: an escaping closure cannot consume a noncopyable value.
/// Dropping it with the request inside replies EIO.
///
/// Locks are always taken in this order: this object's, then libfuse's lock of the request. libfuse calls the relay
/// with its own lock held, so the relay must not take this object's: it only queues a job for the connection's
/// interrupter thread.
public final class FUSEPendingRequest: Sendable {
    private struct State: ~Copyable {
        var request: FUSERequest?
        var handler: (@Sendable () -> Void)?
        var relay: Unmanaged<Relay>?
        var isInterrupted = false
    }

    /// The object that libfuse holds. It must not keep the pending request alive, or a dropped one would never be
    /// answered.
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
    private let isFromRing: Bool
    // Unsafe: valid only while `state.request` is there, and used only under the lock.
    private nonisolated(unsafe) let raw: fuse_req_t

    public init(_ request: consuming FUSERequest) {
        context = request.context
        raw = request.raw
        let connection = request.connection.takeUnretainedValue()
        interrupter = connection.interrupter
        isFromRing = connection.ring.isActive
        state = Mutex(State(request: request))
    }

    deinit { _ = take() }

    /// Takes the request, to answer it; nil when it was taken before. From here on no interrupt handler is started.
    public func take() -> FUSERequest? {
        state.withLock { state in
            if let relay = state.relay.take() {
                // libfuse's lock ensures that the relay is not being called, and will not be.
                fuse_req_interrupt_func(raw, nil, nil)
                relay.release()
            }
            state.handler = nil
            return state.request.take()
        }
    }

    /// Runs `handler` once when a signal is about to end the requesting process, or soon if one already is, on a thread
    /// of the session. The handler may `take` and reply; it must be quick, as the handlers of all requests run one
    /// after another. It is not started once the request was taken (one that has just begun may still be finishing),
    /// nor for a signal that the program handles (see `ThreadSignals`); where the kernel does not show signals to us,
    /// any signal starts it.
    public func onInterrupt(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard state.request != nil else { return }
            state.handler = handler
            if state.relay == nil {
                let relay = Unmanaged.passRetained(Relay(self))
                state.relay = relay
                // Calls at once when the interrupt came first.
                fuse_req_interrupt_func(
                    raw, { _, relay in Unmanaged<Relay>.fromOpaque(relay!).takeUnretainedValue().fire() },
                    relay.toOpaque())
                if isFromRing { interrupter.enqueue { [weak self] in self?.watch() } }
            } else if state.isInterrupted {
                interrupter.enqueue { [weak self] in self?.interrupted() }
            }
        }
    }

    /// The interval for polling signals once the kernel has reported the first: it does not report later ones.
    private static let pause: UInt64 = 40_000_000

    /// The kernel does not report an interrupt that comes before it has put the request into the ring (Linux 6.18), nor
    /// any later one of that request. So we look ourselves.
    private static let ringPause: UInt64 = 80_000_000

    private func watch() {
        guard state.withLock({ $0.request != nil && !$0.isInterrupted }) else { return }
        switch ThreadSignals.of(thread: context.pid) {
        case .end: interrupted()
        case .wait: interrupter.enqueue(after: Self.ringPause) { [weak self] in self?.watch() }
        case .unknown: break
        }
    }

    private func interrupted() {
        guard state.withLock({ $0.request != nil }) else { return }
        // (Not under the lock: it makes system calls.)
        if ThreadSignals.of(thread: context.pid) == .wait {
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
