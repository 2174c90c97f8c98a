public import FileProvider
import Logging
import Synchronization

/// What others change.
extension DirectoryProvider {
    /// The root is watched when this returns, the folders below it a moment later; since something may
    /// have been missed until then, `.everything` is sent once all are.
    ///
    /// Needs inotify, which does not see what another machine does on a network file system.
    public func changeSignals() -> AsyncStream<ChangeSignal> {
        // The oldest are kept: what finds no room is made up for by an `.everything`, so nothing is lost.
        let (stream, continuation) = AsyncStream.makeStream(
            of: ChangeSignal.self, bufferingPolicy: .bufferingOldest(1024))
        do throws(SystemError) {
            let watcher = try InotifyWatcher(store: store, signals: continuation)
            continuation.onTermination = { _ in watcher.stop() }
            store.watchers.withLock { $0.append(watcher) }
            watcher.start()
        } catch {
            store.logger.error("changes by other programs cannot be noticed: \(error)")
            continuation.finish()
        }
        return stream
    }
}

extension Store {
    /// Something happened in this folder that inotify may not tell in time.
    func signal(_ folder: ItemIdentifier) {
        for watcher in watchers.withLock({ $0 }) { watcher.signal(folder) }
    }

    func stopWatchers() {
        for watcher in watchers.withLock({ watchers in
            defer { watchers = [] }
            return watchers
        }) {
            watcher.stop()
        }
    }
}
