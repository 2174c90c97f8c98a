/// A moment, to the nanosecond, as statx(2) reports it: any that a file can have.
public struct FileTime: Hashable, Sendable, Comparable {
    /// Whole seconds since 1970-01-01 00:00:00 UTC (may be negative), rounded down.
    public let seconds: Int64
    private let fraction: UInt32
    /// The part below a second in nanoseconds, 0 ..< 1,000,000,000.
    public var subsecond: Int64 { Int64(fraction) }

    /// - Parameters:
    ///   - seconds: since 1970-01-01 00:00:00 UTC.
    ///   - nanoseconds: added to `seconds`.
    public init(seconds: Int64, nanoseconds: Int64 = 0) {
        var (carry, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        if rest < 0 { (carry, rest) = (carry - 1, rest + 1_000_000_000) }
        let (sum, overflow) = seconds.addingReportingOverflow(carry)
        self.seconds = overflow ? (seconds < 0 ? .min : .max) : sum
        fraction = UInt32(rest)
    }
    /// - Parameter nanoseconds: since 1970-01-01 00:00:00 UTC.
    public init(nanoseconds: Int64) { self.init(seconds: 0, nanoseconds: nanoseconds) }

    /// Since 1970-01-01 00:00:00 UTC. A moment before 1677 or after 2262, for which there is no such number, gives the
    /// nearest one.
    public var nanoseconds: Int64 {
        get { exactNanoseconds ?? (seconds < 0 ? .min : .max) }
        set { self = FileTime(nanoseconds: newValue) }
    }

    /// Nil before 1677 and after 2262.
    package var exactNanoseconds: Int64? { Int64(exactly: wideNanoseconds) }
    /// For every moment.
    package var wideNanoseconds: Int128 { Int128(seconds) * 1_000_000_000 + Int128(fraction) }

    /// With as much of the fraction as a `Double` keeps.
    package var secondsSince1970: Double { Double(seconds) + Double(fraction) / 1e9 }

    /// The earlier one is less.
    public static func < (a: FileTime, b: FileTime) -> Bool { (a.seconds, a.fraction) < (b.seconds, b.fraction) }
}

/// The kind of an item.
public enum ItemKind: Hashable, Sendable {
    /// A file with contents.
    case document
    /// A directory of items.
    case folder
    /// A symbolic link; its target, as bytes, is never followed by Hydrant.
    case symbolicLink(target: [UInt8])

    /// Whether other items are in it.
    public var isFolder: Bool { self == .folder }
    /// Whether it has contents.
    public var isDocument: Bool { self == .document }
}

/// One item as its provider reports it; its placeholder shows this.
///
/// Source: Apple, `NSFileProviderItem`.
public struct Item: Hashable, Sendable {
    /// The persistent name of the item.
    public var identifier: ItemIdentifier
    /// The folder that contains the item; the root contains itself.
    public var parentIdentifier: ItemIdentifier
    /// The name in its folder.
    public var filename: Filename
    /// The kind, which never changes.
    public var kind: ItemKind
    /// In bytes; 0 for a folder or a link.
    public var size: Int64
    /// The last change of its contents: the modification time that programs see.
    public var contentModificationDate: FileTime
    /// The date of its creation, where the store knows it.
    public var creationDate: FileTime?
    /// The permission bits (0o1777) where the store has them; nil shows the mount's default. Hydrant does not take
    /// setuid and setgid from a store: the file would get the rights of its owner on this machine.
    public var posixPermissions: UInt16?
    /// The version of the contents and of the metadata.
    public var version: ItemVersion
    /// The extended attributes by name, with the namespace, which is `user.`; empty where there are none. nil says that
    /// the store does not keep attributes of this item: those that programs set stay on this machine. Limits:
    /// ``ExtendedAttribute``.
    ///
    /// Source: Apple, `NSFileProviderItem.extendedAttributes`.
    public var extendedAttributes: [String: [UInt8]]?
    /// The operations that the store allows on it; default: all. A change of this changes the metadata version.
    public var capabilities: ItemCapabilities
    /// Whether the store cannot move items between this folder, with all that is below it, and its other folders:
    /// another disk or share begins here. rename(2) fails with EXDEV, as at the mount point of a file system, and
    /// programs copy instead. A change of this changes the metadata version.
    public var isVolume: Bool
    /// Whether this user has marked the item as a favourite; false where the store has none. Programs see it as the
    /// extended attribute `user.hydrant.favorite`, `1` or `0`. A change of this changes the metadata version.
    ///
    /// Source: Apple, `NSFileProviderItem.favoriteRank`.
    public var isFavorite = false
    /// The store's own tags of the item, which people give it there; programs read them as the extended attribute
    /// `user.hydrant.tags`, separated by commas as those of `user.xdg.tags` are. Hydrant shows at most
    /// ``mostTags``, and none with a comma or a control character, or of more than 255 bytes. A change of this changes
    /// the metadata version.
    ///
    /// Source: Apple, `NSFileProviderItem.tagData`.
    public var tags: [String] = []

    /// The largest number of ``tags`` that Hydrant shows.
    public static let mostTags = 256

    /// An item; see the properties.
    public init(
        identifier: ItemIdentifier, parentIdentifier: ItemIdentifier, filename: Filename, kind: ItemKind,
        size: Int64 = 0, contentModificationDate: FileTime, creationDate: FileTime? = nil,
        posixPermissions: UInt16? = nil, version: ItemVersion, extendedAttributes: [String: [UInt8]]? = nil,
        capabilities: ItemCapabilities = .all, isVolume: Bool = false
    ) {
        self.identifier = identifier
        self.parentIdentifier = parentIdentifier
        self.filename = filename
        self.kind = kind
        self.size = size
        self.contentModificationDate = contentModificationDate
        self.creationDate = creationDate
        self.posixPermissions = posixPermissions
        self.version = version
        self.extendedAttributes = extendedAttributes
        self.capabilities = capabilities
        self.isVolume = isVolume
    }
}

/// The setuid and setgid bits of a file (inode(7)), and the owner and group that they stand for on this machine.
///
/// A program run from the file gets the rights of its owner or group. So set them in a store only on
/// a file that has the same owner and group there; leave them out otherwise, and where a store has no owners.
public struct SetID: Hashable, Sendable {
    /// 0o4000, 0o2000, or both.
    public var bits: UInt16
    /// The owner of the file on this machine.
    public var owner: UInt32
    /// The group of the file on this machine.
    public var group: UInt32

    /// See the properties.
    public init(bits: UInt16, owner: UInt32, group: UInt32) {
        self.bits = bits
        self.owner = owner
        self.group = group
    }
}

/// An item that the provider is to create in the store.
public struct ItemTemplate: Hashable, Sendable {
    /// The folder for the item.
    public var parentIdentifier: ItemIdentifier
    /// The name in its folder.
    public var filename: Filename
    /// The kind, which never changes.
    public var kind: ItemKind
    /// The last change of its contents: the modification time that programs see.
    public var contentModificationDate: FileTime
    /// The permission bits (0o1777), for stores that keep them.
    public var posixPermissions: UInt16?
    /// Setuid and setgid; nil: neither. Most stores have no use for them.
    public var setID: SetID?
    /// For stores that keep attributes, as ``Item/extendedAttributes``; nil and empty both mean none.
    public var extendedAttributes: [String: [UInt8]]?

    /// An item to create; see the properties.
    public init(
        parentIdentifier: ItemIdentifier, filename: Filename, kind: ItemKind,
        contentModificationDate: FileTime, posixPermissions: UInt16? = nil,
        extendedAttributes: [String: [UInt8]]? = nil, setID: SetID? = nil
    ) {
        self.parentIdentifier = parentIdentifier
        self.filename = filename
        self.kind = kind
        self.contentModificationDate = contentModificationDate
        self.posixPermissions = posixPermissions
        self.extendedAttributes = extendedAttributes
        self.setID = setID
    }
}

/// The metadata to write to the store, together with changed contents or by itself.
public struct ItemMetadata: Hashable, Sendable {
    /// The last change of its contents: the modification time that programs see.
    public var contentModificationDate: FileTime
    /// The permission bits (0o1777), for stores that keep them.
    public var posixPermissions: UInt16?
    /// Setuid and setgid; nil: neither. Most stores have no use for them.
    public var setID: SetID?
    /// For stores that keep attributes, as ``Item/extendedAttributes``: the item has exactly these from now on. nil
    /// leaves the store's attributes as they are.
    ///
    /// No attribute is a reason to refuse a change. Leave out an attribute that the store cannot keep (no room, too
    /// large), and return the item without it, or with its old value.
    public var extendedAttributes: [String: [UInt8]]?

    /// The metadata to set; see the properties.
    public init(
        contentModificationDate: FileTime, posixPermissions: UInt16? = nil,
        extendedAttributes: [String: [UInt8]]? = nil, setID: SetID? = nil
    ) {
        self.contentModificationDate = contentModificationDate
        self.posixPermissions = posixPermissions
        self.extendedAttributes = extendedAttributes
        self.setID = setID
    }
}

/// Where an enumeration goes on; opaque to Hydrant (Apple: `NSFileProviderPage`).
public struct Page: Hashable, Sendable {
    /// The provider's own data.
    public let bytes: [UInt8]
    /// - Parameter bytes: the provider's own data.
    public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
}

/// One page of a folder's items.
public struct ItemPage: Sendable {
    /// In any order; may be empty, also before the last page.
    public var items: [Item]
    /// Where the next page starts; nil after the last one. Only a complete run of pages tells Hydrant
    /// that an item is absent.
    public var nextPage: Page?
    /// Entries of the store that cannot be shown: the user is told their names, and they do not count as absent.
    public var leftOut: [LeftOutItem]

    /// One page; without a next one, the last.
    public init(items: [Item], nextPage: Page? = nil, leftOut: [LeftOutItem] = []) {
        self.items = items
        self.nextPage = nextPage
        self.leftOut = leftOut
    }
}

/// An entry in the store's listing that cannot be an item.
public struct LeftOutItem: Hashable, Sendable {
    /// The name, as far as it is known.
    public var filename: Filename
    /// For people, after the name: `the server does not say its size`.
    public var reason: String

    /// See the properties.
    public init(filename: Filename, reason: String) {
        self.filename = filename
        self.reason = reason
    }
}

/// Whether an item's bytes stay on this machine.
public enum ContentDisposition: Hashable, Sendable {
    /// The bytes stay.
    case keep
    /// The bytes may go: the item becomes a placeholder.
    case evict
}
