package import FileProvider
import ItemCatalog
import Trees

/// Something that happened in a mounted domain, as a user may want to see it.
package struct SyncEvent: Sendable {
    /// A hook of the provider's that was called, by its name, or what came of it.
    package enum Kind: String, Sendable, CaseIterable {
        case providePlaceholder, enumerateItems, startProvidingItem, itemChanged, createItem, moveItem, deleteItem
        case updateMetadata, stopProvidingItem, copyItem, trashItem, enumerateChanges, keepThumbnail
        /// Both sides had changed, and both versions are kept.
        case conflict
        case evicted
        /// A program opened a document that is not here, and may not download it (``DownloadPolicy``).
        case refused
        /// Others changed something in the store, and it shows here now.
        case remoteChange
        /// The store deleted much at once, and it is not carried out here before a person agrees; and what of that the
        /// store has again.
        case deletionsHeld, deletionsReleased
        /// Something did not work, and whoever wanted it knows: a program has its errno, or a change waits.
        case error
        /// The store answers again, or no longer.
        case online, offline
    }

    package var kind: Kind
    /// When it was over.
    package var moment: FileTime
    /// For people, relative to the mount point (which is empty); nil where it concerns no item.
    package var path: String?
    package var identifier: ItemIdentifier?
    /// How many bytes were moved, or evicted.
    package var bytes: Int64?
    package var duration: Duration?
    /// Whose read it was that the download began for.
    package var process: CausingProcess?
    /// Of what failed: the provider's code, or a word of ours.
    package var code: String?
    /// For people; of an error: which file, why, and what happens next.
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
