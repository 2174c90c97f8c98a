package import FileProvider
import ItemCatalog
import Trees

/// An event in a mounted domain that a user may want to see.
package struct SyncEvent: Sendable {
    /// The name of a provider's hook that was called, or an outcome.
    package enum Kind: String, Sendable, CaseIterable {
        case providePlaceholder, enumerateItems, startProvidingItem, itemChanged, createItem, moveItem, deleteItem
        case updateMetadata, stopProvidingItem, copyItem, trashItem, enumerateChanges, keepThumbnail
        case versions, startProvidingVersion
        case setFavorite, shareLink, endSharedLink, restoreTrashedItem
        /// An item was changed on both sides, and both versions are kept.
        case conflict
        case evicted
        /// A program opened a document that is not here and that it may not download (``DownloadPolicy``).
        case refused
        /// A change that others made in the store now shows here.
        case remoteChange
        /// The store deleted many items at once, and the deletions are held until a person agrees; the store has some
        /// of these items again.
        case deletionsHeld, deletionsReleased
        /// An operation failed: a program got an errno, or a change waits.
        case error
        /// The store answers again; the store no longer answers.
        case online, offline
    }

    package var kind: Kind
    /// The end of the event.
    package var moment: FileTime
    /// For people, relative to the mount point (whose own path is empty); nil when the event concerns no item.
    package var path: String?
    package var identifier: ItemIdentifier?
    /// The number of bytes moved or evicted.
    package var bytes: Int64?
    package var duration: Duration?
    /// The process whose read began the download.
    package var process: CausingProcess?
    /// For failures: the provider's code, or a word of ours.
    package var code: String?
    /// For people; for an error: which file, why, and what happens next.
    package var message: String?

    package init(
        _ kind: Kind, path: String? = nil, identifier: ItemIdentifier? = nil, bytes: Int64? = nil,
        duration: Duration? = nil, process: CausingProcess? = nil, code: String? = nil, message: String? = nil
    ) {
        self.kind = kind
        self.moment = .now
        self.path = path
        self.identifier = identifier
        self.bytes = bytes
        self.duration = duration
        self.process = process
        self.code = code
        self.message = message
    }
}
