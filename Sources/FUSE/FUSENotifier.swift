internal import CFUSE
internal import Locking

/// Sends invalidations to the kernel, on threads of its own. A notification waits for pages that a read has locked and
/// for look-ups under way in its folder; on a request's own thread that would be a deadlock.
///
/// Notifications are sent in order, one at a time. Only when one is stuck for `patience` do later ones overtake it, on
/// another thread, and never one about the same node: a read that hangs for a minute must not keep the rest of the
/// mount stale.
final class FUSENotifier: Sendable {
    enum Notification: Hashable, Sendable {
        case inode(UInt64, offset: Int64, length: Int64)
        case entry(parent: UInt64, name: [UInt8])
        case expiry(parent: UInt64, name: [UInt8])

        var node: UInt64 {
            switch self {
            case .inode(let node, _, _): node
            case .entry(let parent, _), .expiry(let parent, _): parent
            }
        }
    }

    private struct Queued {
        var number: UInt64
        var notification: Notification
        /// Called when it has been sent.
        var then: [@Sendable () -> Void]
    }

    private struct Active {
        var node: UInt64
        var since: UInt64
        /// Whom to tell that it has been sent.
        var then: [@Sendable () -> Void]
    }

    private struct State {
        var queue: [Queued] = []
        /// Queued notifications, so that an equal one is not queued again.
        var queued: Set<Notification> = []
        var active: [UInt64: Active] = [:]
        var lastNumber: UInt64 = 0
        var threads = 0
        var isStopped = false
    }

    private static let maxThreads = 8

    private let monitor = Monitor(State())
    /// In nanoseconds.
    private let patience: UInt64
    private let send: @Sendable (Notification) -> Void

    init(patience: UInt64 = 100_000_000, send: @escaping @Sendable (Notification) -> Void) {
        self.patience = patience
        self.send = send
    }

    /// - Parameter then: called once, when the notification has been sent or dropped; in no order, as each thread calls
    ///   it after its own sending.
    func enqueue(_ notification: Notification, then: (@Sendable () -> Void)? = nil) {
        let (isStopped, needsThread) = monitor.withLock { state in
            if state.isStopped { return (true, false) }
            guard state.queued.insert(notification).inserted else {
                if let then, let index = state.queue.lastIndex(where: { $0.notification == notification }) {
                    state.queue[index].then.append(then)
                }
                return (false, false)
            }
            state.lastNumber += 1
            state.queue.append(
                Queued(number: state.lastNumber, notification: notification, then: then.map { [$0] } ?? []))
            return (false, Self.claimThread(&state))
        }
        if isStopped { then?() }
        if needsThread { start() }
    }

    /// Waits until all notifications queued now have been sent, or the session has ended.
    func drain() {
        let last = monitor.withLock(\.lastNumber)
        monitor.wait { state in
            let isOpen =
                state.queue.contains { $0.number <= last } || state.active.keys.contains { $0 <= last }
            return isOpen && !state.isStopped ? .wait : .done(())
        }
    }

    /// - Parameter then: called, once, when all that is queued now about this node has been sent, or will not be.
    func settle(_ node: UInt64, then: @escaping @Sendable () -> Void) {
        let isSettled = monitor.withLock { state in
            // (Those about one node go out in their order.)
            if let last = state.queue.lastIndex(where: { $0.notification.node == node }) {
                state.queue[last].then.append(then)
            } else if let number = state.active.first(where: { $0.value.node == node })?.key {
                state.active[number]!.then.append(then)
            } else {
                return true
            }
            return false
        }
        if isSettled { then() }
    }

    /// Drops queued notifications. One that is stuck in the kernel stays until the request that it waits for has been
    /// answered.
    func stop() {
        let dropped = monitor.withLock { state in
            state.isStopped = true
            defer { (state.queue, state.queued) = ([], []) }
            var dropped = state.queue.flatMap(\.then)
            for number in state.active.keys {
                dropped += state.active[number]!.then
                state.active[number]!.then = []
            }
            return dropped
        }
        for then in dropped { then() }
    }

    var isSending: Bool { monitor.withLock { !$0.active.isEmpty } }

    /// Starts one thread, and one more whenever all threads may be stuck.
    private static func claimThread(_ state: inout State) -> Bool {
        guard !state.isStopped, state.threads == state.active.count, state.threads < maxThreads else { return false }
        state.threads += 1
        return true
    }

    private func start() {
        let started = startThread { [self] in
            while let next = next() {
                send(next.notification)
                for then in monitor.withLock({ $0.active.removeValue(forKey: next.number) })?.then ?? [] { then() }
            }
        }
        if !started { monitor.withLock { $0.threads -= 1 } }
    }

    /// The next notification; nil when the thread is no longer needed.
    private func next() -> Queued? {
        let idleSince = monotonicNow()
        let (next, needsThread) = monitor.wait { state -> Monitor<State>.Step<(Queued?, Bool)> in
            let now = monotonicNow()
            let stuckAt = state.active.values.map { $0.since + patience }.max() ?? 0
            if !state.isStopped, stuckAt <= now,
                let index = state.queue.firstIndex(where: { queued in
                    !state.active.values.contains { $0.node == queued.notification.node }
                })
            {
                let next = state.queue.remove(at: index)
                state.queued.remove(next.notification)
                state.active[next.number] = Active(node: next.notification.node, since: now, then: next.then)
                return .done((next, !state.queue.isEmpty && Self.claimThread(&state)))
            }
            if state.isStopped || now > idleSince + 1_000_000_000 && state.queue.isEmpty {
                state.threads -= 1
                return .done((nil, false))
            }
            return .waitUntil(nanoseconds: max(stuckAt, now + 1_000_000_000))
        }
        if needsThread { start() }
        return next
    }
}
