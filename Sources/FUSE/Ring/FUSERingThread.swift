internal import CURing
internal import Glibc
internal import Locking
internal import Synchronization

/// A thread's own io_uring, with the entry through which the kernel gives it requests. Other threads call `run` and
/// `wake` only.
///
/// `@unchecked Sendable`: one thread uses the ring, from `begin` to `close`; `owned` is behind its queue's lock.
final class FUSERingThread: @unchecked Sendable {
    let processor: UInt16
    /// The entries that it has or is to have, free ones and the one that it works on.
    fileprivate var owned = 1
    /// It waits, and would begin with an errand at once.
    let isIdle = Atomic(false)
    private let ring = UnsafeMutablePointer<hydrant_ring>.allocate(capacity: 1)
    private var isOpen = true
    private let errands = AdaptiveMutex<[Errand]>([])
    /// Its own entry, one for the wake-up, and late answers; more wait for their turn in the ring.
    private static let commands: UInt32 = 16

    enum Errand {
        /// An entry with its answer.
        case send(FUSERingEntry)
        /// The thread needs a new entry.
        case register
    }
    enum Event {
        case woken
        /// A request has come, or the entry's command has failed with an errno.
        case entry(FUSERingEntry, error: Int32)
    }

    /// Nil: the kernel refuses a ring (errno tells why).
    init?(processor: UInt16, commands: UInt32 = FUSERingThread.commands) {
        self.processor = processor
        let result = hydrant_ring_open(ring, commands)
        guard result >= 0 else {
            // (deinit runs: everything has a value.)
            isOpen = false
            errno = -result
            return nil
        }
    }

    /// The number of its last file descriptor.
    var descriptor: Int32 { max(ring.pointee.wake, ring.pointee.uring.ring_fd) }

    deinit {
        if isOpen { hydrant_ring_close(ring) }
        hydrant_ring_forget(ring)
        ring.deallocate()
    }

    // MARK: For other threads

    func run(_ errand: Errand) {
        let isFirst = errands.withLock { errands in
            errands.append(errand)
            return errands.count == 1
        }
        if isFirst { wake() }
    }

    func wake() { hydrant_ring_wake(ring) }

    // MARK: For the thread itself

    /// First. False: the kernel refuses.
    func begin() -> Bool {
        FUSEAffinity.bind(to: processor)
        return hydrant_ring_begin(ring)
    }

    /// Ends the ring; the kernel then gives no more requests to its entries. Last.
    func close() {
        if isOpen { hydrant_ring_close(ring) }
        isOpen = false
        FUSEAffinity.unbind()
    }

    func takeErrands() -> [Errand] {
        errands.withLock { errands in
            defer { errands = [] }
            return errands
        }
    }

    /// Gives the entry to the kernel at the next `wait`: with its answer if it has one.
    func arm(_ entry: FUSERingEntry, _ device: Int32) {
        entry.state.store(.processing, ordering: .relaxed)
        let tag = Unmanaged.passUnretained(entry).toOpaque()
        if entry.isRegistered {
            _ = hydrant_ring_command(
                ring, device, UInt32(HYDRANT_RING_COMMIT_AND_FETCH), entry.queue, entry.header.pointee.commit_id, nil,
                tag)
        } else {
            entry.isRegistered = true
            _ = hydrant_ring_command(
                ring, device, UInt32(HYDRANT_RING_REGISTER), entry.queue, 0, entry.parts, tag)
        }
    }

    /// Waits for events, and takes them all. False: the ring is unusable.
    func wait(_ take: (Event) -> Void) -> Bool {
        isIdle.store(true, ordering: .relaxed)
        let result = hydrant_ring_wait(ring)
        isIdle.store(false, ordering: .relaxed)
        guard result == 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY else { return false }
        var tag: UnsafeMutableRawPointer?
        var status: Int32 = 0
        while hydrant_ring_next(ring, &tag, &status) {
            guard let tag else {
                _ = hydrant_ring_watch(ring)
                take(.woken)
                continue
            }
            // What is answered already goes out first: the callback may take long.
            if hydrant_ring_has_commands(ring) { submit() }
            take(.entry(Unmanaged<FUSERingEntry>.fromOpaque(tag).takeUnretainedValue(), error: max(0, -status)))
        }
        return true
    }

    func submit() { _ = hydrant_ring_submit(ring) }
}

/// The threads of one of the kernel's queues, and the entries that each owns.
///
/// A thread should own one entry, because the kernel gives a request to any that is free: behind a second entry of a
/// thread that works, a request would wait for that work, while other threads have none. So there is a thread for each
/// entry, up to a bound.
final class FUSERingQueue: Sendable {
    private struct State {
        var threads: [FUSERingThread]
        /// Threads that are being made.
        var coming = 0
    }

    /// 64 requests that hang, and some threads for the others.
    static let mostThreads = 80
    let number: UInt16
    /// So many entries are free or worked on at least.
    private let width: Int
    private let state: AdaptiveMutex<State>

    init(_ number: UInt16, _ threads: [FUSERingThread]) {
        self.number = number
        width = threads.count
        state = AdaptiveMutex(State(threads: threads))
    }

    var threads: [FUSERingThread] { state.withLock { $0.threads } }

    /// The thread's entry waits for a late answer.
    ///
    /// - Returns: the thread that needs a new entry, so that requests can come; it counts already.
    func lost(by thread: FUSERingThread) -> FUSERingThread? {
        state.withLock { state in
            thread.owned -= 1
            guard state.threads.reduce(state.coming, { $0 + $1.owned }) < width else { return nil }
            let needy = thread.owned == 0 ? thread : state.threads.first { $0.owned == 0 } ?? thread
            needy.owned += 1
            return needy
        }
    }

    /// Call when `thread` has answered a request within its call. A thread owns two entries where none could be started
    /// for the second.
    ///
    /// - Returns: the thread that gets the answered entry instead of `thread`; nil: `thread` keeps it.
    func relief(of thread: FUSERingThread) -> FUSERingThread? {
        state.withLock { state in
            guard thread.owned > 1, let other = state.threads.first(where: { $0.owned <= 0 }) else { return nil }
            thread.owned -= 1
            other.owned += 1
            return other
        }
    }

    /// The thread has not got the entry that it was to have: whether the queue has none now.
    func has(none thread: FUSERingThread) -> Bool {
        state.withLock { state in
            thread.owned -= 1
            return state.coming == 0 && state.threads.allSatisfy { $0.owned <= 0 }
        }
    }

    /// The thread that a late answer goes to, and whose entry that is from then on: one without an entry, or a new one.
    ///
    /// - Parameter start: makes a thread and starts it; nil if that is impossible. Called without the lock.
    func gained(start: () -> FUSERingThread?) -> FUSERingThread {
        let known: FUSERingThread? = state.withLock { state in
            let best = state.threads.min { $0.rank < $1.rank }!
            guard best.owned <= 0 || state.threads.count + state.coming >= Self.mostThreads else {
                state.coming += 1
                return nil
            }
            best.owned += 1
            return best
        }
        if let known { return known }
        let new = start()
        return state.withLock { state in
            state.coming -= 1
            if let new {
                state.threads.append(new)
                return new
            }
            let best = state.threads.min { $0.rank < $1.rank }!
            best.owned += 1
            return best
        }
    }
}

extension FUSERingThread {
    /// The lowest is without an entry, or waits and has few.
    fileprivate var rank: Int { owned + (owned <= 0 || isIdle.load(ordering: .relaxed) ? 0 : 1 << 20) }
}
