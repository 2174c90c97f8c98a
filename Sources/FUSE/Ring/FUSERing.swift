internal import CFUSE
internal import Glibc
internal import Locking
internal import Surroundings
internal import Synchronization

/// FUSE over io_uring: the kernel gives requests to waiting threads, and takes an answer and gives the next request in
/// one system call. Only requests come this way; the device has forgets, interrupts and notifications as before.
///
/// The kernel has one queue for each processor, and gives a request to the entry of its processor's queue that became
/// free last. Here a few threads for each queue stay on its processor, and each owns an entry (``FUSERingThread``): so
/// a thread that works has no free entry, the kernel gives it nothing, and a program that makes one request after
/// another always meets the thread that has just run.
///
/// A request that is not answered within its call (``FUSEPendingRequest``) keeps its entry. Its queue then gets a new
/// one, so that hung requests block nobody. A late answer goes to a thread of the queue, because only a waiting thread may
/// give an entry back; it owns the entry from then on. The kernel takes no entry back for good. So a queue has as many
/// entries as were ever in use at once, and a thread for each (``FUSERingQueue``).
///
/// Source: Documentation/filesystems/fuse/fuse-io-uring.rst (Linux 6.14).
///
/// `@unchecked Sendable`: what is not behind a lock is set in `prepare`, before other threads see it.
final class FUSERing: @unchecked Sendable {
    private struct Life {
        var mayServe = false
        /// No thread starts to process another request.
        var isStopping = false
        /// Everything is answered.
        var isClosing = false
        var threads: [pthread_t] = []
        /// Threads that were started, and those of them that process no request, and will not.
        var (started, quiet) = (0, 0)
    }

    /// With more processors than this the device serves: each takes threads.
    static let mostProcessors = 64

    private unowned let connection: FUSEConnection
    private var queues: [FUSERingQueue] = []
    private var device: Int32 = -1
    private var payloadSize = 0
    private let active = Atomic(false)
    /// Requests that come now are failed.
    private let isFailing = Atomic(false)
    private let life = Monitor(Life())
    /// Requests that came through the ring and are not answered.
    private let unanswered = AdaptiveMutex<[UInt64: FUSERingEntry]>([:])
    /// Keeps every entry: the kernel and the rings hold only addresses.
    private let entries = AdaptiveMutex<[FUSERingEntry]>([])

    init(_ connection: FUSEConnection) { self.connection = connection }

    var isActive: Bool { active.load(ordering: .acquiring) }

    // MARK: Start

    /// Makes rings and threads, which wait for `serve`. No thread is left when it throws the reason.
    ///
    /// - Parameters:
    ///   - payloadSize: the largest payload of a request or an answer that was agreed with the kernel.
    ///   - threads: the device's.
    func prepare(device: Int32, payloadSize: Int, threads: Int) throws(FUSEConnection.Refusal) {
        let count = try Self.processors()
        FUSEAffinity.note()
        self.device = device
        self.payloadSize = payloadSize
        let width = max(count <= 16 ? 4 : 2, (threads + count - 1) / count)
        for number in 0..<count {
            var threads: [FUSERingThread] = []
            for _ in 0..<width {
                guard let thread = FUSERingThread(processor: UInt16(number)) else {
                    let refusal = Self.refusal()
                    queues = []
                    throw refusal
                }
                threads.append(thread)
            }
            queues.append(FUSERingQueue(UInt16(number), threads))
        }
        for queue in queues {
            for thread in queue.threads {
                guard start({ self.serve(thread, queue, registers: true) }) else {
                    abandon()
                    throw FUSEConnection.Refusal(errno: EAGAIN, text: "no more threads can be started")
                }
            }
        }
    }

    /// Instead of `serve`: the kernel has not accepted the ring.
    func abandon() {
        life.withLock { $0.isStopping = true }
        joinThreads()
        queues = []
    }

    private static func refusal() -> FUSEConnection.Refusal {
        let error = errno
        let text =
            switch error {
            case ENOSYS, EPERM: "io_uring is not allowed here (sysctl kernel.io_uring_disabled, or a container)"
            default: "no io_uring can be made: \(FUSEError.text(of: error))"
            }
        return FUSEConnection.Refusal(errno: error, text: text)
    }

    /// Why a kernel does not offer the ring.
    static var missingOffer: String {
        switch SystemFile.text("/sys/module/fuse/parameters/enable_uring").first {
        case nil: "this kernel has no FUSE over io_uring (Linux 6.14, CONFIG_FUSE_IO_URING)"
        case "N", "0":
            "the administrator has not allowed it: echo Y > /sys/module/fuse/parameters/enable_uring, and for the next "
                + "boot: echo 'options fuse enable_uring=1' > /etc/modprobe.d/hydrant.conf; then mount again"
        default: "it was allowed after this mount: mount again"
        }
    }

    /// The kernel's number of queues: of possible processors, also of those that are off.
    private static func processors() throws(FUSEConnection.Refusal) -> Int {
        let possible = SystemFile.text("/sys/devices/system/cpu/possible")
        let last = possible.split(whereSeparator: { !$0.isNumber }).last.flatMap { Int($0) }
        let count = last.map { $0 + 1 } ?? sysconf(Int32(_SC_NPROCESSORS_CONF))
        guard (1...mostProcessors).contains(count) else {
            throw FUSEConnection.Refusal(
                errno: E2BIG,
                text: "this machine may have \(count) processors; more than \(mostProcessors) use the device")
        }
        return count
    }

    /// False: no more threads can be started, or the ring is being closed.
    private func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        life.withLock { state in
            guard !state.isClosing else { return false }
            let thread = newThread { [life] in
                let mayServe = life.wait { life in
                    life.mayServe ? .done(true) : life.isStopping ? .done(false) : .wait
                }
                if mayServe { body() }
            }
            guard let thread else { return false }
            state.threads.append(thread)
            state.started += 1
            return true
        }
    }

    /// Another thread for a queue, without an entry; nil: there is none to be had.
    private func startAnother(for queue: FUSERingQueue) -> FUSERingThread? {
        guard let thread = FUSERingThread(processor: queue.number), Self.leavesDescriptors(thread) else { return nil }
        return start { self.serve(thread, queue, registers: false) } ? thread : nil
    }

    /// Whether documents, the catalog and the store have file descriptors left beside the ring's.
    private static func leavesDescriptors(_ thread: FUSERingThread) -> Bool {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return true }
        return UInt64(thread.descriptor) < limit.rlim_cur / 2
    }

    /// Until a thread has ended, the kernel may write into its entries.
    private func joinThreads() {
        let threads = life.withLock { life in
            defer { life.threads = [] }
            return life.threads
        }
        for thread in threads { pthread_join(thread, nil) }
    }

    /// The kernel has accepted the ring: its requests wait until each queue has an entry.
    func serve() {
        active.store(true, ordering: .releasing)
        life.withLock { $0.mayServe = true }
    }

    // MARK: Requests

    /// - Parameter registers: it gets a new entry; else it comes with its first errand.
    private func serve(_ thread: FUSERingThread, _ queue: FUSERingQueue, registers: Bool) {
        var isQuiet = false
        func becomeQuiet() {
            if !isQuiet { life.withLock { $0.quiet += 1 } }
            isQuiet = true
        }
        defer {
            thread.close()
            becomeQuiet()
        }
        guard thread.begin() else { return fail(ENOSYS) }
        if registers { register(thread, queue) }
        var isOver = false
        while !isOver {
            let isUsable = thread.wait { event in
                switch event {
                case .woken:
                    // (Read first: whatever is asked for before is done in this turn.)
                    let (isStopping, isClosing) = life.withLock { ($0.isStopping, $0.isClosing) }
                    for errand in thread.takeErrands() {
                        switch errand {
                        case .send(let entry): thread.arm(entry, device)
                        case .register: register(thread, queue)
                        }
                    }
                    if isStopping { becomeQuiet() }
                    if isClosing { isOver = true }
                case .entry(let entry, let error):
                    if error == 0 {
                        entry.isAccepted = true
                        work(entry, thread, queue)
                    } else if [ENOTCONN, ECONNABORTED, ENODEV, ECANCELED].contains(error) {
                        isOver = true
                    } else if entry.isAccepted || queue.has(none: thread) {
                        // Nobody can mend that: a request waits for its answer, or a processor's programs have no entry.
                        // (Late answers may still come to this thread.)
                        fail(error)
                    } else {
                        entries.withLock { $0.removeAll { $0 === entry } }
                    }
                }
            }
            if !isUsable {
                fail(EIO)
                isOver = true
            }
        }
        thread.submit()
    }

    private func work(_ entry: FUSERingEntry, _ thread: FUSERingThread, _ queue: FUSERingQueue) {
        if process(entry) {
            if let other = queue.relief(of: thread) { return other.run(.send(entry)) }
            return thread.arm(entry, device)
        }
        switch queue.lost(by: thread) {
        case nil: break
        case .some(let other) where other === thread: register(thread, queue)
        case .some(let other): other.run(.register)
        }
    }

    private func register(_ thread: FUSERingThread, _ queue: FUSERingQueue) {
        guard let entry = FUSERingEntry(queue: queue.number, payloadSize: payloadSize) else {
            if queue.has(none: thread) { fail(ENOMEM) }
            return
        }
        entries.withLock { $0.append(entry) }
        thread.arm(entry, device)
    }

    /// Whether the request was answered; else its answer comes later, from elsewhere.
    private func process(_ entry: FUSERingEntry) -> Bool {
        guard let request = entry.request() else {
            entry.fill(error: EIO)
            return true
        }
        if isFailing.load(ordering: .relaxed) {
            entry.fill(error: ENOTCONN)
            return true
        }
        unanswered.withLock { $0[entry.unique] = entry }
        FUSECurrentRequest.note(UnsafeRawBufferPointer(request))
        var buffer = fuse_buf()
        (buffer.mem, buffer.size) = (request.baseAddress, request.count)
        fuse_session_process_buf(connection.session, &buffer)
        FUSEAffinity.sweepLater()
        return !entry.state.compareExchange(
            expected: .processing, desired: .detached, ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// libfuse answers a request. False: it did not come through the ring.
    func answer(_ unique: UInt64, _ vectors: UnsafeBufferPointer<iovec>) -> Bool {
        guard let entry = unanswered.withLock({ $0.removeValue(forKey: unique) }) else { return false }
        entry.fill(vectors)
        deliver(entry, startsThread: true)
        return true
    }

    private func deliver(_ entry: FUSERingEntry, startsThread: Bool) {
        guard entry.state.exchange(.answered, ordering: .acquiringAndReleasing) == .detached else { return }
        let queue = queues[Int(entry.queue)]
        queue.gained { startsThread ? startAnother(for: queue) : nil }.run(.send(entry))
    }

    // MARK: End

    /// Ends the mount, because the kernel asks nowhere else.
    private func fail(_ error: Int32) { connection.loop.stop(error: error) }

    /// No thread processes requests any more when it returns; those under way are finished first, and new ones fail.
    /// Answers still go out.
    func stopServing() {
        guard isActive else { return }
        isFailing.store(true, ordering: .sequentiallyConsistent)
        life.withLock { $0.isStopping = true }
        wakeAll()
        life.wait { $0.quiet == $0.started ? .done(()) : .wait }
    }

    /// After `stopServing`: fails every request that waits.
    func failEverything() {
        guard isActive else { return }
        let waiting = unanswered.withLock { unanswered in
            defer { unanswered = [:] }
            return Array(unanswered.values)
        }
        for entry in waiting {
            entry.fill(error: ENOTCONN)
            // (No thread works any more.)
            deliver(entry, startsThread: false)
        }
    }

    /// After `failEverything`: everything is sent, and the kernel gives no more requests.
    func close() {
        guard isActive else { return }
        life.withLock { $0.isClosing = true }
        wakeAll()
        joinThreads()
    }

    private func wakeAll() {
        for queue in queues { for thread in queue.threads { thread.wake() } }
    }
}
