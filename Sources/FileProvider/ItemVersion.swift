/// The version of an item's contents: opaque to Hydrant, compared for equality only.
///
/// Two different contents of one item must never have the same version; a rename or another change of metadata must not
/// change it. Use an ETag, a revision number, or size and modification time.
public struct ContentVersion: Hashable, Sendable, CustomStringConvertible {
    /// The bytes to compare.
    public let bytes: [UInt8]
    /// - Parameter bytes: the bytes to compare.
    public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
    /// A version that is text: an ETag, a number.
    public init(_ string: String) { self.bytes = Array(string.utf8) }
    /// For a log: the bytes as text.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// The version of an item's name, place, dates, mode, extended attributes, and marks (``Item/isFavorite``,
/// ``Item/tags``): opaque to Hydrant, compared for equality
/// only. It must change when one of them does.
public struct MetadataVersion: Hashable, Sendable, CustomStringConvertible {
    /// The bytes to compare.
    public let bytes: [UInt8]
    /// - Parameter bytes: the bytes to compare.
    public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
    /// A version that is text: an ETag, a number.
    public init(_ string: String) { self.bytes = Array(string.utf8) }
    /// For a log: the bytes as text.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// Both versions of an item (Apple: `NSFileProviderItemVersion`).
public struct ItemVersion: Hashable, Sendable {
    /// The version of the contents.
    public var content: ContentVersion
    /// The version of all the rest.
    public var metadata: MetadataVersion

    /// Both versions of an item.
    public init(content: ContentVersion, metadata: MetadataVersion) {
        self.content = content
        self.metadata = metadata
    }
}
