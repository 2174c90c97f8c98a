import Locking

/// The latest events, and the listeners for further ones.
///
/// All listeners share one ring: a listener is a position in the ring, so a slow listener costs nothing and holds up
/// nobody. An event that was overwritten before the listener came to it is lost to that listener, and counted.
package final class EventLog: Sendable {
    /// The number of events kept.
    package static let capacity = 1_000

    private struct State {
        /// Event number `n` is at `n % capacity`.
        var ring: [SyncEvent] = []
        var next: UInt64 = 0
        var listeners: [UInt64: AsyncStream<Void>.Continuation] = [:]
        var nextListener: UInt64 = 0
    }
    private let state = AdaptiveMutex(State())

    package init() {}

    /// Never blocks for longer than a copy takes; from any thread, under any lock.
    func add(_ event: SyncEvent) {
        state.withLock { state in
            if state.ring.count < Self.capacity {
                state.ring.append(event)
            } else {
                state.ring[Int(state.next % UInt64(Self.capacity))] = event
            }
            state.next += 1
            // Only sets a flag: yielding to a stream that keeps one element does not wake a listener that is awake.
            for listener in state.listeners.values { listener.yield() }
        }
    }

    /// The events that a listener has not seen yet.
    package struct Batch: Sendable {
        package var events: [SyncEvent]
        /// The number of events before these that were lost.
        package var lost: Int
    }

    /// Starts with the last `last` events.
    package func listen(last: Int) -> Listener {
        let (wakes, waker) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        return state.withLock { state in
            let id = state.nextListener
            state.nextListener += 1
            state.listeners[id] = waker
            let count = UInt64(min(max(0, last), state.ring.count))
            return Listener(log: self, id: id, position: state.next - count, wakes: wakes)
        }
    }

    fileprivate func batch(from position: inout UInt64, most: Int) -> Batch {
        state.withLock { state in
            let oldest = state.next - UInt64(state.ring.count)
            let lost = position < oldest ? Int(oldest - position) : 0
            let first = max(position, oldest)
            let end = min(state.next, first + UInt64(most))
            position = end
            return Batch(
                events: (first..<end).map { state.ring[Int($0 % UInt64(Self.capacity))] }, lost: lost)
        }
    }

    fileprivate func remove(_ id: UInt64) {
        // Finished outside the lock, because the stream may run code.
        state.withLock { $0.listeners.removeValue(forKey: id) }?.finish()
    }

    var listenerCount: Int { state.withLock { $0.listeners.count } }

    /// One reader's position; for one task. It stops listening when released.
    package final class Listener {
        private let log: EventLog
        private let id: UInt64
        private var position: UInt64
        private var wakes: AsyncStream<Void>.Iterator

        fileprivate init(log: EventLog, id: UInt64, position: UInt64, wakes: AsyncStream<Void>) {
            self.log = log
            self.id = id
            self.position = position
            self.wakes = wakes.makeAsyncIterator()
        }

        deinit { log.remove(id) }

        /// The events that are there already, at most `most`; empty when there is nothing new.
        package func now(most: Int) -> Batch { log.batch(from: &position, most: most) }

        /// Waits for new events; nil when the task was cancelled.
        package func next(most: Int) async -> Batch? {
            while !Task.isCancelled {
                let batch = now(most: most)
                if !batch.events.isEmpty { return batch }
                if await wakes.next() == nil { return nil }
            }
            return nil
        }
    }
}
