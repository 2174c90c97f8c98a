import ItemCatalog
package import Trees

/// The engine's view of the layer above it (the volume).
package protocol VolumeObserving: AnyObject, Sendable {
    /// The provider's side changed the catalog: the kernel's cache of these must be invalidated. Must not block.
    func catalogChanged(_ changes: [CatalogChange])
    /// Some program has the inode open.
    func isOpen(_ inode: InodeID) -> Bool
    /// A program is writing the inode: there are bytes that the catalog does not know of.
    func isBeingWritten(_ inode: InodeID) -> Bool
    /// Removes the marks of documents whose last writer has closed them, so that they may be sent when due.
    func endWritingNow()
}

extension VolumeObserving {
    package func endWritingNow() {}
}

/// Times that govern the engine, in seconds.
package struct SyncTimes: Sendable, Codable {
    /// From the last writable close to the upload.
    package var settle: Double = 0.5
    /// From an fsync without a further change to the upload: an editor that syncs has saved.
    package var settleAfterSync: Double = 0.5
    /// A download fails when no byte comes for this long.
    package var readTimeout: Double = 30
    /// The longest that a program waits for a range of a document, while bytes come, and for a folder's first listing.
    package var longestRead: Double = 600
    package var longestListing: Double = 300
    /// The first wait after a failed upload; doubles up to `longestRetry`.
    package var firstRetry: Double = 1
    package var longestRetry: Double = 300
    /// From the last process's close of a document to `stopProvidingItem`.
    package var stopProviding: Double = 60
    /// The polling interval for folders where the provider signals no changes.
    package var poll: Double = 30
    /// From a start with folders in the catalog until the store is asked for changes, so that the first look after a
    /// mount has the machine to itself.
    package var firstLook: Double = 0.25
    /// An item made from here and deleted within this time does not go to the store's trash.
    package var briefLife: Double = 10
    /// The longest time between two questions how full the store is; below, the time from a change to the question.
    package var quota: Double = 300
    package var quotaAfterChange: Double = 10
    package init() {}

    /// The longest that the engine itself delays a change.
    var longestSettle: Double { max(settle, settleAfterSync, Catalog.longestPostponement) }
}
