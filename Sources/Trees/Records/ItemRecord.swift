package import FileProvider

/// The row id of table `item`; the root folder's item is 1.
package struct ItemID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package static let root = ItemID(rawValue: 1)
    package var description: String { "item \(rawValue)" }
}

/// Where an item is in one of the three trees.
package struct TreePlace: Hashable, Sendable {
    package var parent: ItemID
    package var name: Filename
    package init(parent: ItemID, name: Filename) {
        self.parent = parent
        self.name = name
    }
}

/// What the provider sees of a file: one row of table `item`, with its entry in each of the three
/// trees. An absent place is a tombstone (or not yet there).
package struct ItemRecord: Sendable, Equatable {
    package var id: ItemID
    package var inode: InodeID?
    /// The provider's; nil until the provider has confirmed the item.
    package var identifier: ItemIdentifier?
    package var kind: ItemKind

    /// What both sides last agreed on.
    package var base: TreePlace?
    package var baseVersion: ItemVersion?

    package var local: TreePlace?
    /// 0: the bytes are those of the base version; else the number of the last local change to them, which no other
    /// change of the item has (``TreeStore/nextRevision(after:)``): by it an upload that ends knows whether what it
    /// sent is still what is here.
    package var contentRevision: Int64
    /// The same for mode and modification date.
    package var metadataRevision: Int64

    package var remote: TreePlace?
    package var remoteVersion: ItemVersion?
    package var remoteFacts: RemoteFacts

    /// Not before this moment is a local change sent; nil: not while a writer is at work.
    package var readyAt: FileTime
    package var failure: ItemFailure?
    /// What was sent since the provider last confirmed its contents, the latest last. A provider that seemed to fail, or a
    /// daemon that was killed, may have put any of them there all the same: it is no conflict with what is here.
    package var sent: [SentContent]
    package var isPinned: Bool
    package var isExcluded: Bool
    /// Since when the store has it no more, and it stays here until a person agrees (``DeletionHold``); nil: it is none of
    /// those.
    package var heldSince: FileTime?
    /// Where the store may have made it: it was asked to, and its reply has not come, or was lost.
    package var attempted: TreePlace?

    package init(
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

    /// Nobody knows whether the store has it where it was once to be, and it is somewhere else here by now, or nowhere:
    /// that is to be found out first.
    package var isLost: Bool { identifier == nil && attempted != nil && attempted != local }

    /// The provider has it in another place, and nobody here moved it.
    package var isMovedRemotelyOnly: Bool {
        remote != nil && remote != base && local != nil && local == base && inode != nil
    }

    /// What the store lets be done with it; all, of what it does not have.
    package var capabilities: ItemCapabilities { identifier == nil || isExcluded ? .all : remoteFacts.capabilities }

    /// The local bytes or metadata are not what the provider confirmed.
    package var isModified: Bool {
        !isExcluded && (local != base || contentRevision != 0 || metadataRevision != 0)
    }
}

/// What a placeholder needs to know, as the provider last said it.
package struct RemoteFacts: Sendable, Equatable {
    package var size: Int64
    package var modified: FileTime
    package var born: FileTime?
    package var mode: UInt16?
    /// Nil: the store keeps none.
    package var extendedAttributes: [String: [UInt8]]?
    package var capabilities: ItemCapabilities
    /// Nothing can be moved in or out.
    package var isVolume: Bool

    package init(
        size: Int64, modified: FileTime, born: FileTime?, mode: UInt16?,
        extendedAttributes: [String: [UInt8]]? = nil, capabilities: ItemCapabilities = .all, isVolume: Bool = false
    ) {
        self.size = size
        self.modified = modified
        self.born = born
        self.mode = mode
        self.extendedAttributes = extendedAttributes
        self.capabilities = capabilities
        self.isVolume = isVolume
    }

    package init(_ item: Item) {
        self.init(
            size: item.kind.isDocument ? item.size : 0, modified: item.contentModificationDate,
            born: item.creationDate, mode: item.trustedPermissions, extendedAttributes: item.trustedAttributes,
            capabilities: item.capabilities, isVolume: item.kind.isFolder && item.isVolume)
    }
}

/// Why the last attempt to send a change failed, and when the next one comes.
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

    /// More attempts than anybody makes between two answers with different contents.
    static let mostKept = 16
}
