package import FileProvider
package import Trees

/// One name of the domain with the facts that a search needs. A hard link is found under each of its names.
package struct SearchRow: Sendable, Equatable {
    /// The row id of table `name`: stays the same for the lifetime of the name, through every rename; never reused.
    package var number: Int64
    package var folder: InodeID
    package var name: Filename
    package var inode: InodeID
    package var kind: InodeKind
    /// In bytes.
    package var size: Int64
    package var modified: FileTime
    package var created: FileTime
    package var accessed: FileTime
    package var uid: UInt32
    /// How many of the document's bytes are on this machine.
    package var bytesHere: Int64
    /// All bytes are on this machine.
    package var isWhole: Bool
    /// For a folder: somebody has listed it.
    package var isEnumerated: Bool
    /// Nil: a pipe, a socket, a device, or another name of a document.
    package var item: ItemID?
    package var identifier: ItemIdentifier?
    package var isExcluded: Bool
    /// The item has changes that the store has not confirmed.
    package var isPending: Bool
    /// Why the last attempt to send the changes failed, for people.
    package var failure: String?
    /// The item has a pin of its own; not: it is in a pinned folder.
    package var isPinned: Bool
    /// For items that only the store's own search has found: the unlisted folders between ``folder`` and the item. Nil:
    /// the catalog has the item.
    package var unlisted: [Filename]?

    static let columns = """
        n.id, n.folder, n.name, i.id, i.kind, i.size, i.mtime, i.btime, i.atime, i.uid, i.here, i.extents IS NULL,
        i.enumerated, t.id, t.identifier, t.excluded, t.pending, t.error, t.pinned, i.writing
        """

    /// An item that the catalog does not have.
    ///
    /// - Parameters:
    ///   - number: a number that no name and no inode has.
    ///   - folder: the deepest folder on the item's path that the catalog has.
    package init(number: Int64, in folder: InodeID, _ path: [Filename], _ finding: StoreFinding, uid: UInt32) {
        self.number = number
        self.folder = folder
        name = path.last ?? ""
        unlisted = path.dropLast()
        // No inode has this number.
        inode = InodeID(rawValue: number)
        kind = finding.kind.isFolder ? .folder : finding.kind.isDocument ? .document : .link
        size = finding.size
        (modified, created, accessed) = (
            finding.contentModificationDate, finding.contentModificationDate, finding.contentModificationDate
        )
        self.uid = uid
        (bytesHere, isWhole, isEnumerated) = (0, kind != .document, false)
        (item, identifier) = (nil, finding.identifier)
        (isExcluded, isPending, failure, isPinned) = (false, false, nil, false)
    }

    init(_ row: Columns) {
        number = row.int(0)
        folder = InodeID(rawValue: row.int(1))
        name = Filename(bytes: row.bytes(2) ?? [])
        inode = InodeID(rawValue: row.int(3))
        kind = InodeKind(rawValue: row.int(4)) ?? .document
        size = row.int(5)
        modified = row.time(6)
        created = row.time(7)
        accessed = row.time(8)
        uid = UInt32(truncatingIfNeeded: row.int(9))
        bytesHere = row.int(10)
        isWhole = row.bool(11)
        isEnumerated = row.bool(12)
        item = row.intOrNil(13).map { ItemID(rawValue: $0) }
        identifier = row.text(14).map { ItemIdentifier($0) }
        isExcluded = row.bool(15)
        // 2: a program has the document open, and has written.
        isPending = row.bool(16) || (!isExcluded && row.int(19) == 2)
        failure = row.text(17)
        isPinned = row.bool(18)
    }
}

/// Limits that exclude inodes early, before any other check.
package struct SearchBounds: Sendable, Equatable {
    /// For documents, in bytes; nil: any size.
    package var size: ClosedRange<Int64>?
    /// In nanoseconds since 1970. Dates outside `Int64` are never excluded.
    package var modified: ClosedRange<Int64> = .min ... .max
    package var created: ClosedRange<Int64> = .min ... .max
    package var accessed: ClosedRange<Int64> = .min ... .max
    package var uid: UInt32?

    package init() {}

    /// Whether the bounds exclude anything.
    package var isBound: Bool { self != SearchBounds() }
}
