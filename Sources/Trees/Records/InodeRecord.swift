package import FileProvider

/// The number of an inode: `st_ino`, the row id of table `inode`, never reused within a domain.
package struct InodeID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package static let root = InodeID(rawValue: 1)
    package var description: String { "inode \(rawValue)" }
}

/// What the file system shows an inode as.
package enum InodeKind: Int64, Sendable {
    case document = 0
    case folder = 1
    case link = 2
    // No store has these; they live on this machine only, and have no item.
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

/// What POSIX sees of a file: one row of table `inode`.
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
    /// Of a symbolic link.
    package var target: [UInt8]?
    /// Which body of bytes is the current one.
    package var generation: Int64
    /// Bytes at and past this offset never come from the provider; below it, those in ``extents`` are here.
    package var baseSize: Int64
    /// The present ranges below ``baseSize``; nil: all of them (the document is downloaded).
    package var extents: RangeSet<Int64>?
    /// Whether a program may be changing the bytes; survives a crash.
    package var writing: WritingMark?
    /// Of a folder: its whole listing has been seen once.
    package var isEnumerated: Bool
    /// Of a device: its number, as `st_rdev`.
    package var device: UInt64
    /// When a program last let go of it: the first to be evicted was used longest ago.
    package var used: FileTime
    /// The bytes of a writer whose document got a new generation meanwhile: of which item. Without a name
    /// until he changes something, then a conflicted copy.
    package var splitFrom: ItemID?
    /// What the store lets be done with it; all, of what the store does not have. The item's, not the inode's: read
    /// with it, never written.
    package var capabilities: ItemCapabilities

    package init(
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

    /// How many of the provider's bytes are here; at most ``Item/largestSize``, whatever the row says.
    package var bytesPresent: Int64 {
        guard let extents else { return min(size, Item.largestSize) }
        let within = extents.intersection(RangeSet(0..<Item.largestSize))
        let behind = min(size, Item.largestSize) - max(0, min(baseSize, Item.largestSize))
        return min(within.ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } + max(0, behind), Item.largestSize)
    }
}

/// The dirty mark of an inode (design.md, *Metadata after data*).
package enum WritingMark: Sendable, Equatable {
    /// A writer may change the bytes without our seeing it (passthrough): compare with this afterwards.
    case maybeModified(BackingStamp)
    /// Bytes have been, or are just being, written.
    case modified
}

/// What fstat(2) said of a backing file at some moment: tells whether it was written since.
package struct BackingStamp: Sendable, Equatable {
    package var size: Int64
    package var modified: FileTime
    package var changed: FileTime
    package init(size: Int64, modified: FileTime, changed: FileTime) {
        self.size = size
        self.modified = modified
        self.changed = changed
    }
    /// The stamp of a file that was just made: any content differs from it.
    package static let none = BackingStamp(
        size: -1, modified: FileTime(nanoseconds: 0), changed: FileTime(nanoseconds: 0))
}
