/// Which contents an item has: opaque to Hydrant, compared for equality only.
///
/// Two different contents of one item must never have the same version; a rename or another change
/// of metadata must not change it. An ETag, a revision number, or size and modification time.
public struct ContentVersion: Hashable, Sendable, CustomStringConvertible {
    public let bytes: [UInt8]
    public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
    public init(_ string: String) { self.bytes = Array(string.utf8) }
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// Which name, place, dates and mode an item has: opaque to Hydrant, compared for equality only.
public struct MetadataVersion: Hashable, Sendable, CustomStringConvertible {
    public let bytes: [UInt8]
    public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
    public init(_ string: String) { self.bytes = Array(string.utf8) }
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// Both versions of an item (Apple: `NSFileProviderItemVersion`).
public struct ItemVersion: Hashable, Sendable {
    public var content: ContentVersion
    public var metadata: MetadataVersion

    public init(content: ContentVersion, metadata: MetadataVersion) {
        self.content = content
        self.metadata = metadata
    }
}
