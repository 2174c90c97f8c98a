package import Glibc

/// A value behind a lock, on whose changes threads can wait; Synchronization has no condition variable.
///
/// `@unchecked Sendable`: the value and both pointers are used under the lock only.
package final class Monitor<Value>: @unchecked Sendable {
    @usableFromInline var value: Value
    @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    @usableFromInline let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init(_ value: sending Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Waiting threads check again afterwards.
    @inlinable package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        return body(&value)
    }

    package enum Step<Result> {
        case done(Result)
        case wait
        /// Check again at this time of ``monotonicNow()``, even without a change.
        case waitUntil(nanoseconds: UInt64)
    }

    @inlinable package func wait<Result>(_ step: (inout Value) -> Step<Result>) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        while true {
            switch step(&value) {
            case .done(let result):
                return result
            case .wait:
                pthread_cond_wait(condition, mutex)
            case .waitUntil(let nanoseconds):
                var deadline = timespec(
                    tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
                pthread_cond_timedwait(condition, mutex, &deadline)
            }
        }
    }
}

/// Monotonic nanoseconds.
package func monotonicNow() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}
