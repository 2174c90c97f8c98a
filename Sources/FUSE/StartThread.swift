internal import Glibc

/// Runs `body` on a detached thread that blocks all signals: those are for the program's own threads. False when no
/// thread could be started.
@discardableResult
func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    guard let thread = newThread(body) else { return false }
    pthread_detach(thread)
    return true
}

/// As ``startThread(_:)``, to be joined: afterwards the kernel has ended all that it did for the thread. Nil when no
/// thread could be started.
func newThread(_ body: @escaping @Sendable () -> Void) -> pthread_t? {
    final class Box: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var all = sigset_t()
    var previous = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }

    // (A ring's thread stays on one processor, and a thread inherits that.)
    let box = Unmanaged.passRetained(
        Box {
            FUSEAffinity.unbind()
            body()
        })
    var thread = pthread_t()
    let result = pthread_create(
        &thread, nil,
        { argument in
            Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().body()
            return nil
        }, box.toOpaque())
    guard result == 0 else {
        box.release()
        return nil
    }
    return thread
}
