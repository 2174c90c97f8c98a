package import FileProvider

/// The row id of table `item`; the root folder's item is 1.
package struct ItemID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: Int64
    @inlinable package init(rawValue: Int64) { self.rawValue = rawValue }
    package static let root = ItemID(rawValue: 1)
    package var description: String { "item \(rawValue)" }
}

/// The place of an item in one of the three trees.
package struct TreePlace: Hashable, Sendable {
    package var parent: ItemID
    package var name: Filename
    package init(parent: ItemID, name: Filename) {
        self.parent = parent
        self.name = name
    }
}

/// An item as the provider sees it: one row of table `item`, with its place in each of the three trees. Without a place
/// the item is deleted in that tree, or not there yet.
package struct ItemRecord: Sendable, Equatable {
    package var id: ItemID
    package var inode: InodeID?
    /// The provider's identifier; nil until the provider has confirmed the item.
    package var identifier: ItemIdentifier?
    package var kind: ItemKind

    /// The last state that both sides agreed on.
    package var base: TreePlace?
    package var baseVersion: ItemVersion?

    package var local: TreePlace?
    /// 0: the bytes are those of the base version; else the number of the last local change to them, unique among the
    /// changes of the item (``TreeStore/nextRevision(after:)``): an upload that ends compares it to learn whether the
    /// bytes have changed since.
    package var contentRevision: Int64
    /// The same for mode and modification date.
    package var metadataRevision: Int64

    package var remote: TreePlace?
    package var remoteVersion: ItemVersion?
    package var remoteFacts: RemoteFacts

    /// A local change is not sent before this moment; ``FileTime/farFuture``: not while a program is writing.
    package var readyAt: FileTime
    package var failure: ItemFailure?
    /// Contents sent since the provider last confirmed them, the latest last. After an apparent failure, or when the
    /// daemon was killed, the provider may have any of them all the same: that is no conflict with the local bytes.
    package var sent: [SentContent]
    package var isPinned: Bool
    package var isExcluded: Bool
    /// When the item was deleted in the store and held here until a person agrees (``DeletionHold``); nil: not held.
    package var heldSince: FileTime?
    /// The place where the store may have made the item: it was asked to, and its reply has not come or was lost.
    package var attempted: TreePlace?

    // (Inlinable: made for each row that is read, in another module.)
    @inlinable package init(
        id: ItemID, inode: InodeID?, identifier: ItemIdentifier?, kind: ItemKind, base: TreePlace?,
        baseVersion: ItemVersion?, local: TreePlace?, contentRevision: Int64, metadataRevision: Int64,
        remote: TreePlace?, remoteVersion: ItemVersion?, remoteFacts: RemoteFacts, readyAt: FileTime,
        failure: ItemFailure?, sent: [SentContent], isPinned: Bool, isExcluded: Bool, heldSince: FileTime? = nil,
        attempted: TreePlace? = nil
    ) {
        self.id = id
        self.inode = inode
        self.identifier = identifier
        self.kind = kind
        self.base = base
        self.baseVersion = baseVersion
        self.local = local
        self.contentRevision = contentRevision
        self.metadataRevision = metadataRevision
        self.remote = remote
        self.remoteVersion = remoteVersion
        self.remoteFacts = remoteFacts
        self.readyAt = readyAt
        self.failure = failure
        self.sent = sent
        self.isPinned = isPinned
        self.isExcluded = isExcluded
        self.heldSince = heldSince
        self.attempted = attempted
    }

    /// The store may have made the item at a place where it no longer is on this machine, because it was moved or
    /// deleted: find out first.
    package var isLost: Bool { identifier == nil && attempted != nil && attempted != local }

    /// The provider has the item in another place, and nobody here moved it.
    package var isMovedRemotelyOnly: Bool {
        remote != nil && remote != base && local != nil && local == base && inode != nil
    }

    /// The capabilities that the store grants; all, for an item that the store does not have.
    package var capabilities: ItemCapabilities { identifier == nil || isExcluded ? .all : remoteFacts.capabilities }

    /// The local bytes or metadata are not those that the provider confirmed.
    package var isModified: Bool {
        !isExcluded && (local != base || contentRevision != 0 || metadataRevision != 0)
    }
}

/// The provider's last facts about an item, as a placeholder needs them.
package struct RemoteFacts: Sendable, Equatable {
    package var size: Int64
    package var modified: FileTime
    package var born: FileTime?
    package var mode: UInt16?
    /// Nil: the store keeps none.
    package var extendedAttributes: [String: [UInt8]]?
    package var capabilities: ItemCapabilities
    /// Nothing can be moved into or out of the volume.
    package var isVolume: Bool
    /// The store's mark; a wish of this machine's for another one is an attribute (``TreeReading/favoriteWish(of:)``).
    package var isFavorite: Bool
    /// The store's tags.
    package var tags: [String]

    package init(
        size: Int64, modified: FileTime, born: FileTime?, mode: UInt16?,
        extendedAttributes: [String: [UInt8]]? = nil, capabilities: ItemCapabilities = .all, isVolume: Bool = false,
        isFavorite: Bool = false, tags: [String] = []
    ) {
        self.size = size
        self.modified = modified
        self.born = born
        self.mode = mode
        self.extendedAttributes = extendedAttributes
        self.capabilities = capabilities
        self.isVolume = isVolume
        self.isFavorite = isFavorite
        self.tags = tags
    }

    package init(_ item: Item) {
        self.init(
            size: item.kind.isDocument ? item.size : 0, modified: item.contentModificationDate,
            born: item.creationDate, mode: item.trustedPermissions, extendedAttributes: item.trustedAttributes,
            capabilities: item.capabilities, isVolume: item.kind.isFolder && item.isVolume,
            isFavorite: item.isFavorite, tags: item.trustedTags)
    }
}

/// Why the last attempt to send a change failed, and when the next attempt comes.
package struct ItemFailure: Sendable, Equatable {
    package var code: String
    package var message: String
    package var attempts: Int64
    package var retryAt: FileTime
    package init(code: String, message: String, attempts: Int64, retryAt: FileTime) {
        self.code = code
        self.message = message
        self.attempts = attempts
        self.retryAt = retryAt
    }
}

package struct SentContent: Sendable, Equatable {
    /// SHA-256.
    package var hash: [UInt8]
    package var size: Int64
    package init(hash: [UInt8], size: Int64) {
        self.hash = hash
        self.size = size
    }

    /// More attempts with different contents than ever happen between two answers.
    static let mostKept = 16
}
