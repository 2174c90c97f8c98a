public import FileProvider
import Logging
import Synchronization

/// Signals for changes by other programs.
extension DirectoryProvider {
    /// On return the root is watched; the folders below it follow a moment later. As changes may be missed until then,
    /// `.everything` is sent once all are watched.
    ///
    /// Uses inotify, which does not report changes by other machines on a network file system.
    public func changeSignals() -> AsyncStream<ChangeSignal> {
        // Keeps the oldest: an `.everything` follows for signals that did not fit, so nothing is lost.
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
    /// Signals a change in this folder that inotify may not report in time.
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
