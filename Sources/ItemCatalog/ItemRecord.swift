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
    /// 0: the bytes are those of the base version; else the number of the last local change to them.
    package var contentRevision: Int64
    /// The same for mode and modification date.
    package var metadataRevision: Int64

    package var remote: TreePlace?
    package var remoteVersion: ItemVersion?
    package var remoteFacts: RemoteFacts

    /// Not before this moment is a local change sent; nil: not while a writer is at work.
    package var readyAt: FileTime
    package var failure: ItemFailure?
    /// Hash and size of what was last sent, to know our own upload again after a lost reply.
    package var sent: SentContent?
    package var isPinned: Bool
    package var isExcluded: Bool

    /// The provider has it in another place, and nobody here moved it.
    var isMovedRemotelyOnly: Bool { remote != nil && remote != base && local != nil && local == base && inode != nil }

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

    package init(size: Int64, modified: FileTime, born: FileTime?, mode: UInt16?) {
        self.size = size
        self.modified = modified
        self.born = born
        self.mode = mode
    }

    package init(_ item: Item) {
        self.init(
            size: item.kind.isDocument ? item.size : 0, modified: item.contentModificationDate,
            born: item.creationDate, mode: item.posixPermissions.map { $0 & 0o7777 })
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
}
