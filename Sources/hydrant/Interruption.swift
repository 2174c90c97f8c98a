import Dispatch
import Foundation
import Synchronization

/// Runs a task; a signal cancels it, and ends this process only when the task is over: for work that must clean up.
///
/// - Parameter signals: a signal that was ignored when this process began (nohup(1)) stays ignored.
func interruptible<T: Sendable>(
    by signals: [Int32] = [SIGINT, SIGTERM, SIGHUP], _ body: @escaping @Sendable () async throws -> T
) async throws -> T {
    let task = Task { try await body() }
    let caught = Mutex<Int32?>(nil)
    let sources = signals.filter { !Interruption.isIgnored($0) }.map { number in
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler {
            caught.withLock { $0 = number }
            task.cancel()
        }
        source.resume()
        return source
    }
    let result = await task.result
    for source in sources { source.cancel() }
    if let number = caught.withLock({ $0 }) { Interruption.end(by: number) }
    return try result.get()
}

enum Interruption {
    static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        // SIG_IGN of signal.h: Swift cannot compare function pointers.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    /// Ends this process by the signal itself, so that its parent sees which.
    static func end(by number: Int32) -> Never {
        signal(number, SIG_DFL)
        // The threads of libdispatch block signals, and there may be no other: this thread takes the signal.
        var own = sigset_t()
        sigemptyset(&own)
        sigaddset(&own, number)
        pthread_sigmask(SIG_UNBLOCK, &own, nil)
        raise(number)
        // (Process 1 of a container ignores a signal with the default action.)
        exit(128 + number)
    }
}
