/// A moment, to the nanosecond, as statx(2) has it: any that a file can have.
public struct FileTime: Hashable, Sendable, Comparable {
    /// Whole seconds since 1970-01-01 00:00:00 UTC (may be negative), rounded down.
    public let seconds: Int64
    private let fraction: UInt32
    /// The part below a second in nanoseconds, 0 ..< 1,000,000,000.
    public var subsecond: Int64 { Int64(fraction) }

    /// - Parameters:
    ///   - seconds: since 1970-01-01 00:00:00 UTC.
    ///   - nanoseconds: to be added.
    public init(seconds: Int64, nanoseconds: Int64 = 0) {
        var (carry, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        if rest < 0 { (carry, rest) = (carry - 1, rest + 1_000_000_000) }
        let (sum, overflow) = seconds.addingReportingOverflow(carry)
        self.seconds = overflow ? (seconds < 0 ? .min : .max) : sum
        fraction = UInt32(rest)
    }
    /// - Parameter nanoseconds: since 1970-01-01 00:00:00 UTC.
    public init(nanoseconds: Int64) { self.init(seconds: 0, nanoseconds: nanoseconds) }

    /// Since 1970-01-01 00:00:00 UTC. Of a moment before 1677 or after 2262, for which there is no such number, the nearest
    /// one that has one.
    public var nanoseconds: Int64 {
        get { exactNanoseconds ?? (seconds < 0 ? .min : .max) }
        set { self = FileTime(nanoseconds: newValue) }
    }

    /// Nil before 1677 and after 2262.
    package var exactNanoseconds: Int64? { Int64(exactly: wideNanoseconds) }
    /// Of every moment.
    package var wideNanoseconds: Int128 { Int128(seconds) * 1_000_000_000 + Int128(fraction) }

    /// With what a `Double` keeps of the fraction.
    package var secondsSince1970: Double { Double(seconds) + Double(fraction) / 1e9 }

    /// The earlier one is less.
    public static func < (a: FileTime, b: FileTime) -> Bool { (a.seconds, a.fraction) < (b.seconds, b.fraction) }
}

/// What an item is.
public enum ItemKind: Hashable, Sendable {
    /// A file with contents.
    case document
    /// What other items are in.
    case folder
    /// A symbolic link; its target, as bytes, is never followed by Hydrant.
    case symbolicLink(target: [UInt8])

    /// Whether other items are in it.
    public var isFolder: Bool { self == .folder }
    /// Whether it has contents.
    public var isDocument: Bool { self == .document }
}

/// What a provider tells about one item: what a placeholder shows.
///
/// Source: Apple, `NSFileProviderItem`.
public struct Item: Hashable, Sendable {
    /// By which the item is known for ever.
    public var identifier: ItemIdentifier
    /// The folder it is in; of the root, the root itself.
    public var parentIdentifier: ItemIdentifier
    /// What it is called in its folder.
    public var filename: Filename
    /// What it is. An item never becomes one of another kind.
    public var kind: ItemKind
    /// In bytes; of a folder or a link, 0.
    public var size: Int64
    /// When its contents were last changed: what programs see as its modification time.
    public var contentModificationDate: FileTime
    /// When it was made, where the store knows.
    public var creationDate: FileTime?
    /// The permission bits (0o1777) where the store has them; nil shows the mount's default. Setuid and setgid are not
    /// taken from a store: the file would get the rights of whoever owns it here.
    public var posixPermissions: UInt16?
    /// Which contents and which metadata these are.
    public var version: ItemVersion
    /// The extended attributes by name, with the namespace, which is `user.`; empty where there are none.
    /// nil says that the store does not keep them (of this item): what programs set stays on this machine.
    /// Limits and what is refused: ``ExtendedAttribute``.
    ///
    /// Source: Apple, `NSFileProviderItem.extendedAttributes`.
    public var extendedAttributes: [String: [UInt8]]?
    /// What may be done with it; default: everything. When this changes, the metadata version does.
    public var capabilities: ItemCapabilities
    /// Whether nothing can be moved between this folder, with all that is below it, and the rest of the store: another disk
    /// or share begins here. Programs get EXDEV from rename(2), as at the mount point of a file system, and copy instead.
    /// When this changes, the metadata version does.
    public var isVolume: Bool

    /// What a provider tells about one item; see the properties.
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

/// The setuid and setgid bits of a file (inode(7)), and whose they are on this machine.
///
/// They give whoever runs the file the rights of its owner or group. So a store may have them only where the file belongs
/// to just these two in the store as well; anywhere else, and where a store has no owners, they are left out.
public struct SetID: Hashable, Sendable {
    /// 0o4000, 0o2000, or both.
    public var bits: UInt16
    /// The user whose file it is here.
    public var owner: UInt32
    /// The group whose file it is here.
    public var group: UInt32

    /// See the properties.
    public init(bits: UInt16, owner: UInt32, group: UInt32) {
        self.bits = bits
        self.owner = owner
        self.group = group
    }
}

/// What Hydrant asks a provider to make: an item that the store does not have yet.
public struct ItemTemplate: Hashable, Sendable {
    /// The folder that it is to be in.
    public var parentIdentifier: ItemIdentifier
    /// What it is called in its folder.
    public var filename: Filename
    /// What it is. An item never becomes one of another kind.
    public var kind: ItemKind
    /// When its contents were last changed: what programs see as its modification time.
    public var contentModificationDate: FileTime
    /// The permission bits (0o1777), for stores that keep them.
    public var posixPermissions: UInt16?
    /// Setuid and setgid; nil: neither. Most stores have no use for them.
    public var setID: SetID?
    /// For stores that keep them, as ``Item/extendedAttributes``; nil and empty are both none.
    public var extendedAttributes: [String: [UInt8]]?

    /// What is to be made; see the properties.
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

/// The metadata that goes to the store, together with changed contents or by itself.
public struct ItemMetadata: Hashable, Sendable {
    /// When its contents were last changed: what programs see as its modification time.
    public var contentModificationDate: FileTime
    /// The permission bits (0o1777), for stores that keep them.
    public var posixPermissions: UInt16?
    /// Setuid and setgid; nil: neither. Most stores have no use for them.
    public var setID: SetID?
    /// For stores that keep them, as ``Item/extendedAttributes``: the item has exactly these from now on.
    /// nil leaves what the store has.
    ///
    /// No attribute is a reason to refuse a change. One that the store cannot keep (no room, too large) is
    /// left out, and the item that is returned says so by having it not, or with its old value.
    public var extendedAttributes: [String: [UInt8]]?

    /// What is to be set; see the properties.
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
    /// Whatever helps the provider to go on.
    public let bytes: [UInt8]
    /// - Parameter bytes: whatever helps the provider to go on.
    public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
}

/// One page of a folder's items.
public struct ItemPage: Sendable {
    /// In any order; may be empty, also before the last page.
    public var items: [Item]
    /// Where the next page starts; nil after the last one. Only a complete run of pages tells Hydrant
    /// that an item is absent.
    public var nextPage: Page?
    /// What the store lists besides, and cannot be shown: it is named to the user, and not taken for absent.
    public var leftOut: [LeftOutItem]

    /// One page; without a next one, the last.
    public init(items: [Item], nextPage: Page? = nil, leftOut: [LeftOutItem] = []) {
        self.items = items
        self.nextPage = nextPage
        self.leftOut = leftOut
    }
}

/// What a store lists, and what cannot be an item.
public struct LeftOutItem: Hashable, Sendable {
    /// What it is called, as far as that is known.
    public var filename: Filename
    /// For people, after the name: `the server does not say its size`.
    public var reason: String

    /// See the properties.
    public init(filename: Filename, reason: String) {
        self.filename = filename
        self.reason = reason
    }
}

/// What to do with an item's bytes on this machine.
public enum ContentDisposition: Hashable, Sendable {
    /// They stay.
    case keep
    /// They may go: the item becomes a placeholder.
    case evict
}
