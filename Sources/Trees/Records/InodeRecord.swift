package import FileProvider

/// The number of an inode: `st_ino`, the row id of table `inode`, never reused within a domain.
package struct InodeID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: Int64
    @inlinable package init(rawValue: Int64) { self.rawValue = rawValue }
    package static let root = InodeID(rawValue: 1)
    package var description: String { "inode \(rawValue)" }
}

/// The file type that the file system shows.
package enum InodeKind: Int64, Sendable {
    case document = 0
    case folder = 1
    case link = 2
    // No store has these kinds; such inodes stay on this machine and have no item.
    case pipe = 3
    case socket = 4
    case characterDevice = 5
    case blockDevice = 6

    package init(_ kind: ItemKind) {
        switch kind {
        case .document: self = .document
        case .folder: self = .folder
        case .symbolicLink: self = .link
        }
    }
}

/// A file as POSIX sees it: one row of table `inode`.
package struct InodeRecord: Sendable, Equatable {
    package var id: InodeID
    package var kind: InodeKind
    /// Permission bits, 0o7777.
    package var mode: UInt32
    package var uid: UInt32
    package var gid: UInt32
    package var linkCount: Int64
    /// In bytes, as `st_size`.
    package var size: Int64
    package var accessed: FileTime
    package var modified: FileTime
    package var changed: FileTime
    package var born: FileTime
    /// For a symbolic link.
    package var target: [UInt8]?
    /// The number of the current body of bytes.
    package var generation: Int64
    /// Bytes at and past this offset never come from the provider; below it, those in ``extents`` are on this machine.
    package var baseSize: Int64
    /// The downloaded ranges below ``baseSize``; nil: all of it (the document is downloaded).
    package var extents: RangeSet<Int64>?
    /// Whether a program may be changing the bytes; survives a crash.
    package var writing: WritingMark?
    /// For a folder: its whole listing has been seen once.
    package var isEnumerated: Bool
    /// For a device: its number, as `st_rdev`.
    package var device: UInt64
    /// When a program last closed the file; the least recently used is evicted first.
    package var used: FileTime
    /// For the bytes of a writer whose document got a new generation meanwhile: the document's item. The inode has no
    /// name until the program changes the bytes; then it is a conflicted copy.
    package var splitFrom: ItemID?
    /// The item's capabilities; all, if the store does not have the item. They belong to the item: they are read with
    /// the inode and never written with it.
    package var capabilities: ItemCapabilities

    // (Inlinable: made for each row that is read, in another module.)
    @inlinable package init(
        id: InodeID, kind: InodeKind, mode: UInt32, uid: UInt32, gid: UInt32, linkCount: Int64, size: Int64,
        accessed: FileTime, modified: FileTime, changed: FileTime, born: FileTime, target: [UInt8]?, generation: Int64,
        baseSize: Int64, extents: RangeSet<Int64>?, writing: WritingMark?, isEnumerated: Bool, device: UInt64 = 0,
        used: FileTime = FileTime(nanoseconds: 0), splitFrom: ItemID? = nil,
        capabilities: ItemCapabilities = ItemCapabilities.all
    ) {
        self.id = id
        self.kind = kind
        self.mode = mode
        self.uid = uid
        self.gid = gid
        self.linkCount = linkCount
        self.size = size
        self.accessed = accessed
        self.modified = modified
        self.changed = changed
        self.born = born
        self.target = target
        self.generation = generation
        self.baseSize = baseSize
        self.extents = extents
        self.writing = writing
        self.isEnumerated = isEnumerated
        self.device = device
        self.used = used
        self.splitFrom = splitFrom
        self.capabilities = capabilities
    }

    package var isFolder: Bool { kind == .folder }

    /// How many of the provider's bytes are on this machine; at most ``Item/largestSize``, whatever the row says.
    package var bytesPresent: Int64 {
        guard let extents else { return min(size, Item.largestSize) }
        // (Without RangeSet.intersection, which allocates: each update of a row asks for this number.)
        var within: Int64 = 0
        for range in extents.ranges {
            within += max(0, min(range.upperBound, Item.largestSize) - max(range.lowerBound, 0))
        }
        let behind = min(size, Item.largestSize) - max(0, min(baseSize, Item.largestSize))
        return min(within + max(0, behind), Item.largestSize)
    }
}

/// The dirty mark of an inode (page Crashes); durable before the first byte of a write.
package enum WritingMark: Sendable, Equatable {
    /// A program may change the bytes unnoticed (passthrough): compare the file with this stamp afterwards.
    case maybeModified(BackingStamp)
    /// Bytes have been written, or are being written.
    case modified
}

/// fstat(2) of a backing file at some moment; tells whether the file was written since.
package struct BackingStamp: Sendable, Equatable {
    package var size: Int64
    package var modified: FileTime
    package var changed: FileTime
    package init(size: Int64, modified: FileTime, changed: FileTime) {
        self.size = size
        self.modified = modified
        self.changed = changed
    }
    /// The stamp of a newly made file: any content differs from it.
    package static let none = BackingStamp(
        size: -1, modified: FileTime(nanoseconds: 0), changed: FileTime(nanoseconds: 0))

    /// At most the ctime differs: by a label, or another name of the file.
    package func hasSameBytes(as other: BackingStamp) -> Bool {
        (size, modified) == (other.size, other.modified)
    }
}
