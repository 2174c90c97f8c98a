import FileProvider
import Foundation
import Synchronization

/// A request that this side has sent, until its answer has come.
final class OpenCall: Sendable {
    enum Event: Sendable {
        case bytes(offset: Int64, [UInt8])
        case partial([UInt8])
        case result([UInt8])
        case failure(FileProviderError)
    }

    private struct State {
        /// Those before ``first`` are taken.
        var events: [Event] = []
        var first = 0
        /// Bytes that came last, without a gap between them, as one event.
        var tail: (offset: Int64, bytes: [UInt8])?
        var waiter: CheckedContinuation<Event, Never>?
        var isOver = false
        /// Bytes that the other side may still send.
        var credit: Int
        /// Bytes of partial results so far, and their number.
        var partialBytes = 0
        var parts = 0
        /// Reads of its contents that this side is at.
        var reads = 0
        var lastSign = ContinuousClock.now
        var cancelled: ContinuousClock.Instant?
        /// It is cancelled because the other side did not work on it.
        var wasSilent = false

        mutating func append(_ event: Event) -> Bool {
            if case .bytes(let offset, let bytes) = event {
                if let end = tail.map({ $0.offset + Int64($0.bytes.count) }), end == offset,
                    tail!.bytes.count + bytes.count <= Frame.mostBytes
                {
                    tail!.bytes += bytes
                    return true
                }
                pushTail()
                tail = (offset, bytes)
            } else {
                pushTail()
                events.append(event)
            }
            return events.count - first <= OpenCall.mostEvents
        }

        private mutating func pushTail() {
            if let last = tail.take() { events.append(.bytes(offset: last.offset, last.bytes)) }
        }

        mutating func next() -> Event? {
            guard first < events.count else { return tail.take().map { .bytes(offset: $0.offset, $0.bytes) } }
            defer {
                first += 1
                if first == events.count || first >= 1_024 {
                    events.removeFirst(first)
                    first = 0
                }
            }
            return events[first]
        }
    }
    private let state: Mutex<State>
    let id: UInt64
    let method: Method
    /// What `readContents` reads.
    let contents: (any ContentSource)?
    /// What requests about the domain ask.
    let domain: (any FileProviderDomain)?

    /// The most bytes that the parts of one result may have together.
    private static let mostPartialBytes = 64 << 20
    private static let mostParts = 1 << 16
    /// What may wait for the one who takes it. (Of bytes, those without a gap between them count as one piece.)
    private static let mostEvents = 1 << 16

    init(
        _ id: UInt64, _ method: Method, credit: Int, contents: (any ContentSource)?, domain: (any FileProviderDomain)?
    ) {
        self.id = id
        self.method = method
        self.contents = contents
        self.domain = domain
        state = Mutex(State(credit: credit))
    }

    /// The next event; must be called by one task only. Does not end early when that task is cancelled: the answer still
    /// comes, or the connection ends.
    func next() async -> Event {
        await withCheckedContinuation { continuation in
            let event = state.withLock { state -> Event? in
                if let event = state.next() { return event }
                state.waiter = continuation
                return nil
            }
            if let event { continuation.resume(returning: event) }
        }
    }

    /// - Returns: why the other side may not send this.
    func put(_ event: Event) -> String? {
        let (waiter, problem) = state.withLock { state -> (CheckedContinuation<Event, Never>?, String?) in
            if state.isOver { return (nil, nil) }
            state.lastSign = .now
            switch event {
            case .bytes(_, let bytes):
                guard bytes.count <= state.credit else {
                    return (nil, "it sent \(bytes.count) bytes for \(method.rawValue), with credit for \(state.credit)")
                }
                state.credit -= bytes.count
            case .partial(let json):
                state.partialBytes += json.count
                state.parts += 1
                guard state.partialBytes <= Self.mostPartialBytes else {
                    return (nil, "the result of \(method.rawValue) has more than \(Self.mostPartialBytes) bytes")
                }
                guard state.parts <= Self.mostParts else {
                    return (nil, "the result of \(method.rawValue) has more than \(Self.mostParts) parts")
                }
            case .result, .failure: state.isOver = true
            }
            if let waiter = state.waiter {
                state.waiter = nil
                return (waiter, nil)
            }
            return (nil, state.append(event) ? nil : "it sends the answer to \(method.rawValue) in too small pieces")
        }
        waiter?.resume(returning: event)
        return problem
    }

    /// The other side may send so many more bytes.
    func give(_ bytes: Int) { state.withLock { $0.credit += bytes } }

    /// The other side works on it.
    func sign() { state.withLock { $0.lastSign = .now } }

    /// This side begins, or ends, to read the contents: what takes time meanwhile is not the other side.
    func isRead(_ begins: Bool) {
        state.withLock { state in
            state.reads += begins ? 1 : -1
            state.lastSign = .now
        }
    }

    var isCancelled: Bool { state.withLock { $0.cancelled != nil } }

    /// - Returns: whether it was not cancelled before.
    func cancel() -> Bool {
        state.withLock { state in
            guard state.cancelled == nil, !state.isOver else { return false }
            state.cancelled = .now
            return true
        }
    }

    func noteSilence() { state.withLock { $0.wasSilent = $0.cancelled == nil } }
    var wasSilent: Bool { state.withLock { $0.wasSilent } }

    enum Standing { case fine, silent, hangs }

    func standing(_ patience: Patience, at now: ContinuousClock.Instant) -> Standing {
        state.withLock { state in
            if let cancelled = state.cancelled {
                return now - max(cancelled, state.lastSign) > patience.afterCancel ? .hangs : .fine
            }
            // (This side is slow, with what has come or with what it reads: its disk, or a limit of the bandwidth.)
            if state.waiter == nil || state.reads > 0 { state.lastSign = now }
            return now - state.lastSign > patience.silence ? .silent : .fine
        }
    }
}
