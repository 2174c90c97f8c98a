import ItemCatalog
package import Trees

/// What the engine needs to know of, and tell to, the layer above it (the volume).
package protocol VolumeObserving: AnyObject, Sendable {
    /// The catalog changed from the provider's side: what the kernel has cached of it must go. Must not
    /// block.
    func catalogChanged(_ changes: [CatalogChange])
    /// Some program has the inode open.
    func isOpen(_ inode: InodeID) -> Bool
    /// A program is in the middle of writing it: there are bytes that the catalog has not been told of.
    func isBeingWritten(_ inode: InodeID) -> Bool
    /// What its last writer has closed is marked no more, and may be sent when its time comes.
    func endWritingNow()
}

extension VolumeObserving {
    package func endWritingNow() {}
}

/// Times that govern the engine, in seconds.
package struct SyncTimes: Sendable, Codable {
    /// From the last writable close to the upload.
    package var settle: Double = 1
    /// From an fsync without further change to the upload: editors sync what they save, and then it is as good as closed.
    package var settleAfterSync: Double = 1
    /// A download that brings no byte for so long fails.
    package var readTimeout: Double = 30
    /// So long a program waits for a range of a document that comes bit by bit, at most; and for a folder's first listing.
    package var longestRead: Double = 600
    package var longestListing: Double = 300
    /// The first wait after a failed upload; doubles up to `longestRetry`.
    package var firstRetry: Double = 1
    package var longestRetry: Double = 300
    /// From the last process letting go of a document to `stopProvidingItem`.
    package var stopProviding: Double = 60
    /// How often folders are looked at again where the provider signals no changes.
    package var poll: Double = 30
    /// From a start with folders in the catalog until the store is asked what changed meanwhile: who mounts looks at once,
    /// and has the machine to himself.
    package var firstLook: Double = 0.25
    /// What was made from here and goes again within so long does not go to the store's trash.
    package var briefLife: Double = 10
    /// How often the store is asked how full it is, at least; and how soon after a change.
    package var quota: Double = 300
    package var quotaAfterChange: Double = 10
    package init() {}

    /// The longest that a change waits of its own accord before it is sent.
    var longestSettle: Double { max(settle, settleAfterSync, Catalog.longestPostponement) }
}
