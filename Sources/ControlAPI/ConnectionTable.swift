import NIOCore
import Synchronization

/// The connections that are open now, so that a server that stops can close them.
final class ConnectionTable: Sendable {
    private struct Contents {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosed = false
    }
    private let contents = Mutex(Contents())

    /// False when the server has stopped: the connection is not wanted any more.
    func add(_ channel: any Channel) -> Bool {
        let key = ObjectIdentifier(channel)
        let isAdded = contents.withLock { contents in
            if contents.isClosed { return false }
            contents.channels[key] = channel
            return true
        }
        if isAdded { channel.closeFuture.whenComplete { [self] _ in remove(key) } }
        return isAdded
    }

    /// Closes all, and lets none in any more. Returns when they are closed.
    func closeAll() async {
        let channels = contents.withLock { contents in
            contents.isClosed = true
            return Array(contents.channels.values)
        }
        for channel in channels {
            // It may be closed by now, which is what is wanted.
            try? await channel.close()
        }
    }

    private func remove(_ key: ObjectIdentifier) {
        contents.withLock { _ = $0.channels.removeValue(forKey: key) }
    }
}
