internal import CURing
internal import Glibc
internal import Locking
internal import Synchronization

/// The processors of this process's threads, while the ring's threads stay on one each: a thread inherits those of the
/// thread that starts it, and Dispatch starts threads wherever work is enqueued. So whatever a ring's thread may have
/// started gets all processors back, at most a second later.
enum FUSEAffinity {
    /// The ring's threads, of all sessions.
    private static let bound = AdaptiveMutex<Set<Int32>>([])
    /// What the process had before the first ring.
    private static let all = AdaptiveMutex<[UInt]?>(nil)
    private static let lastSweep = Atomic<UInt64>(0)
    private static let pause: UInt64 = 1_000_000_000
    /// 1,024 processors, the C library's limit of `cpu_set_t`.
    private static let words = 16

    /// On a thread that is not bound, before the first one that is.
    static func note() {
        all.withLock { all in
            if all == nil { all = of(0) }
        }
    }

    /// Binds the calling thread, as far as the system allows that.
    static func bind(to processor: UInt16) {
        bound.withLock { _ = $0.insert(hydrant_thread_number()) }
        guard Int(processor) < words * UInt.bitWidth else { return }
        var mask = [UInt](repeating: 0, count: words)
        mask[Int(processor) / UInt.bitWidth] = 1 << (UInt(processor) % UInt(UInt.bitWidth))
        set(0, mask)
    }

    /// The calling thread ends, or has inherited another one's processor.
    static func unbind() {
        bound.withLock { _ = $0.remove(hydrant_thread_number()) }
        if let mask = all.withLock({ $0 }) { set(0, mask) }
    }

    /// After a callback on a bound thread, which may have started threads. Returns at once.
    static func sweepLater() {
        let (now, last) = (monotonicNow(), lastSweep.load(ordering: .relaxed))
        guard now > last + pause,
            lastSweep.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
        else { return }
        startThread { sweep() }
    }

    private static func sweep() {
        guard let mask = all.withLock({ $0 }), let folder = opendir("/proc/self/task") else { return }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let thread = Int32(name) else { continue }
            // (Under the lock: a thread that is about to be bound must not be freed.)
            bound.withLock { bound in
                if !bound.contains(thread), of(thread).map({ $0 != mask }) == true { set(thread, mask) }
            }
        }
    }

    /// - Parameter thread: 0: the calling one.
    private static func of(_ thread: Int32) -> [UInt]? {
        var mask = [UInt](repeating: 0, count: words)
        let size = mask.count * MemoryLayout<UInt>.size
        return hydrant_get_processors(thread, size, &mask) < 0 ? nil : mask
    }

    private static func set(_ thread: Int32, _ mask: [UInt]) {
        _ = hydrant_set_processors(thread, mask.count * MemoryLayout<UInt>.size, mask)
    }
}
