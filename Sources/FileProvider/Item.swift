/// A moment, in whole nanoseconds since 1970-01-01 00:00:00 UTC (may be negative), as statx(2) has it.
public struct FileTime: Hashable, Sendable, Comparable {
    public var nanoseconds: Int64
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    public init(seconds: Int64, nanoseconds: Int64 = 0) {
        self.nanoseconds = seconds &* 1_000_000_000 &+ nanoseconds
    }
    public static func < (a: FileTime, b: FileTime) -> Bool { a.nanoseconds < b.nanoseconds }

    /// Whole seconds, rounded down.
    public var seconds: Int64 {
        nanoseconds >= 0 ? nanoseconds / 1_000_000_000 : -((-nanoseconds + 999_999_999) / 1_000_000_000)
    }
    /// The part below a second, 0 ..< 1,000,000,000.
    public var subsecond: Int64 { nanoseconds - seconds * 1_000_000_000 }
}

/// What an item is.
public enum ItemKind: Hashable, Sendable {
    case document
    case folder
    /// A symbolic link; its target, as bytes, is never followed by Hydrant.
    case symbolicLink(target: [UInt8])

    public var isFolder: Bool { self == .folder }
    public var isDocument: Bool { self == .document }
}

/// What a provider tells about one item: what a placeholder shows.
///
/// Source: Apple, `NSFileProviderItem`.
public struct Item: Hashable, Sendable {
    public var identifier: ItemIdentifier
    /// The folder it is in; of the root, the root itself.
    public var parentIdentifier: ItemIdentifier
    public var filename: Filename
    public var kind: ItemKind
    /// In bytes; of a folder or a link, 0.
    public var size: Int64
    public var contentModificationDate: FileTime
    /// When it was made, where the store knows.
    public var creationDate: FileTime?
    /// The permission bits (0o7777) where the store has them; nil shows the mount's default.
    public var posixPermissions: UInt16?
    public var version: ItemVersion

    public init(
        identifier: ItemIdentifier, parentIdentifier: ItemIdentifier, filename: Filename, kind: ItemKind,
        size: Int64 = 0, contentModificationDate: FileTime, creationDate: FileTime? = nil,
        posixPermissions: UInt16? = nil, version: ItemVersion
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
    }
}

/// What Hydrant asks a provider to make: an item that the store does not have yet.
public struct ItemTemplate: Hashable, Sendable {
    public var parentIdentifier: ItemIdentifier
    public var filename: Filename
    public var kind: ItemKind
    public var contentModificationDate: FileTime
    /// The permission bits (0o7777), for stores that keep them.
    public var posixPermissions: UInt16?

    public init(
        parentIdentifier: ItemIdentifier, filename: Filename, kind: ItemKind,
        contentModificationDate: FileTime, posixPermissions: UInt16? = nil
    ) {
        self.parentIdentifier = parentIdentifier
        self.filename = filename
        self.kind = kind
        self.contentModificationDate = contentModificationDate
        self.posixPermissions = posixPermissions
    }
}

/// The metadata that goes to the store together with changed contents.
public struct ItemMetadata: Hashable, Sendable {
    public var contentModificationDate: FileTime
    /// The permission bits (0o7777), for stores that keep them.
    public var posixPermissions: UInt16?

    public init(contentModificationDate: FileTime, posixPermissions: UInt16? = nil) {
        self.contentModificationDate = contentModificationDate
        self.posixPermissions = posixPermissions
    }
}

/// Where an enumeration goes on; opaque to Hydrant (Apple: `NSFileProviderPage`).
public struct Page: Hashable, Sendable {
    public let bytes: [UInt8]
    public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
}

/// One page of a folder's items.
public struct ItemPage: Sendable {
    public var items: [Item]
    /// Where the next page starts; nil after the last one. Only a complete run of pages tells Hydrant
    /// that an item is absent.
    public var nextPage: Page?

    public init(items: [Item], nextPage: Page? = nil) {
        self.items = items
        self.nextPage = nextPage
    }
}

/// What to do with an item's bytes on this machine.
public enum ContentDisposition: Hashable, Sendable {
    case keep
    case evict
}
