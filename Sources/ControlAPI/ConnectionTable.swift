import NIOCore
import Synchronization

/// The open connections, for a server that stops to close.
final class ConnectionTable: Sendable {
    private struct Contents {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosed = false
    }
    private let contents = Mutex(Contents())

    /// - Returns: false if the server has stopped, and the connection must be closed.
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

    /// Closes all connections, and refuses new ones. Returns when they are closed.
    func closeAll() async {
        let channels = contents.withLock { contents in
            contents.isClosed = true
            return Array(contents.channels.values)
        }
        for channel in channels {
            // Fails if the connection is closed already.
            try? await channel.close()
        }
    }

    private func remove(_ key: ObjectIdentifier) {
        contents.withLock { _ = $0.channels.removeValue(forKey: key) }
    }
}
