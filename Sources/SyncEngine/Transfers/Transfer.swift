package import FileProvider
import ItemCatalog
import Locking
import Synchronization
package import Trees

/// One running download or upload of one document.
package final class Transfer: Sendable {
    package enum Direction: String, Sendable { case download, upload }

    let id: UInt64
    package let direction: Direction
    /// For people, relative to the mount point.
    package let path: String
    package let identifier: ItemIdentifier?
    /// The document whose bytes come here; nil: they are only looked at, or it is an upload.
    let inode: InodeID?
    /// The number of bytes to move.
    package let total: Int64
    package let started: FileTime
    private let moved = Atomic<Int64>(0)

    fileprivate init(
        id: UInt64, _ direction: Direction, path: String, identifier: ItemIdentifier?, inode: InodeID?, total: Int64
    ) {
        self.id = id
        self.direction = direction
        self.path = path
        self.identifier = identifier
        self.inode = inode
        self.total = total
        self.started = .now
    }

    /// The number of bytes moved.
    package var done: Int64 { min(total, moved.load(ordering: .relaxed)) }

    func move(_ count: Int64) { moved.wrappingAdd(count, ordering: .relaxed) }

    /// Sets the progress: a provider may read what it sends more than once.
    func reach(_ position: Int64) {
        var seen = moved.load(ordering: .relaxed)
        while seen < position {
            let (isDone, now) = moved.compareExchange(expected: seen, desired: position, ordering: .relaxed)
            if isDone { return }
            seen = now
        }
    }
}

/// The running transfers, and the limits on their speed.
package final class Transfers: Sendable {
    private let running = AdaptiveMutex((next: UInt64(0), all: [UInt64: Transfer]()))
    package let downloadLimit: BandwidthLimit
    package let uploadLimit: BandwidthLimit

    private let downloads = Callback<InodeID>()

    init(clock: any EngineClock) {
        downloadLimit = BandwidthLimit(clock: clock)
        uploadLimit = BandwidthLimit(clock: clock)
    }

    /// In the order of their beginning.
    package func now() -> [Transfer] {
        running.withLock { running in running.all.values.sorted { $0.id < $1.id } }
    }

    /// Called when the download of a document begins, under that download's lock, and when it ends. Set once; must not
    /// block, nor ask for the download.
    package func onDownload(_ body: @escaping @Sendable (InodeID) -> Void) { downloads.set(body) }

    package func isDownloading(_ inode: InodeID) -> Bool {
        running.withLock { $0.all.values.contains { $0.inode == inode } }
    }

    /// Must be followed by ``end(_:)``.
    func begin(
        _ direction: Transfer.Direction, path: String, identifier: ItemIdentifier?, inode: InodeID? = nil, total: Int64
    ) -> Transfer {
        let transfer = running.withLock { running in
            running.next += 1
            let transfer = Transfer(
                id: running.next, direction, path: path, identifier: identifier, inode: inode, total: total)
            running.all[transfer.id] = transfer
            return transfer
        }
        if let inode { downloads(inode) }
        return transfer
    }

    func end(_ transfer: Transfer) {
        running.withLock { _ = $0.all.removeValue(forKey: transfer.id) }
        if let inode = transfer.inode { downloads(inode) }
    }
}
