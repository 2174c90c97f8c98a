import Dispatch
import Glibc

/// Unmounts and exits cleanly on SIGTERM, SIGINT and SIGHUP.
final class SignalWatcher {
    private let sources: [any DispatchSourceSignal]

    init(_ handler: @escaping @Sendable () -> Void) {
        sources = [SIGTERM, SIGINT, SIGHUP].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler(handler: handler)
            source.resume()
            return source
        }
        signal(SIGPIPE, SIG_IGN)
    }

    func stop() { for source in sources { source.cancel() } }
}
