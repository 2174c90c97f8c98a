package import Glibc

/// A lock around a value for heavy use by many threads: a thread that finds it taken spins for a moment, then sleeps,
/// and the first thread to come when it is free gets it.
///
/// Not `Synchronization.Mutex`: that one spins longer, and once a thread sleeps it is handed from thread to thread
/// (FUTEX_LOCK_PI), a context switch each, until no thread waits any more. With some twenty threads on two processors
/// that made eight readers of small documents a quarter slower.
///
/// Source: pthread_mutexattr_settype(3), `PTHREAD_MUTEX_ADAPTIVE_NP` of glibc.
///
/// `@unchecked Sendable`: only the holder of the lock accesses the value.
package final class AdaptiveMutex<Value>: @unchecked Sendable {
    @usableFromInline var value: Value
    /// At a fixed address as long as threads may wait there.
    @usableFromInline let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    package init(_ value: sending Value) {
        self.value = value
        lock.initialize(to: pthread_mutex_t())
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        defer { pthread_mutexattr_destroy(&attributes) }
        let kind = pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_ADAPTIVE_NP))
        precondition(kind == 0 && pthread_mutex_init(lock, &attributes) == 0, "no mutex: \(errno)")
    }

    deinit {
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    /// Not recursive.
    @inlinable package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(&value)
    }
}
