/// How much of an item's bytes is on this machine.
public enum ItemState: String, Codable, Sendable, CaseIterable {
    /// None.
    case placeholder
    /// Some.
    case partial
    /// All.
    case downloaded
}

/// One item as `hydrant status` shows it.
///
/// In JSON every key is always there, `null` where there is no value, so that scripts need not check for keys.
public struct ItemStatus: Sendable, Equatable {
    public enum Kind: String, Codable, Sendable, CaseIterable {
        case document, folder, link
        /// A pipe, a socket or a device.
        case special
    }

    /// Absolute, for people and scripts: invalid UTF-8 is shown as U+FFFD.
    public var path: String
    /// The provider's identifier; nil for an item that the provider does not know (yet).
    public var identifier: String?
    public var kind: Kind
    public var state: ItemState
    /// The item has bytes or metadata that the provider has not confirmed yet.
    public var modified: Bool
    /// The item is kept downloaded regardless of the cache limit.
    public var pinned: Bool
    /// The item lives on this machine only.
    public var excluded: Bool
    /// In bytes.
    public var size: Int64
    /// In bytes; at most ``size``.
    public var bytesDownloaded: Int64
    /// The content version that the bytes here have or are based on, as text; opaque.
    public var version: String?
    /// The last error, for people; nil: none.
    public var error: String?

    public init(
        path: String, identifier: String? = nil, kind: Kind, state: ItemState, modified: Bool = false,
        pinned: Bool = false, excluded: Bool = false, size: Int64 = 0, bytesDownloaded: Int64 = 0,
        version: String? = nil, error: String? = nil
    ) {
        self.path = path
        self.identifier = identifier
        self.kind = kind
        self.state = state
        self.modified = modified
        self.pinned = pinned
        self.excluded = excluded
        self.size = size
        self.bytesDownloaded = bytesDownloaded
        self.version = version
        self.error = error
    }
}

extension ItemStatus: Codable {
    private enum CodingKeys: String, CodingKey {
        case path, identifier, kind, state, modified, pinned, excluded, size, bytesDownloaded, version
        case error
    }

    // By hand, to keep the keys of nil values.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(path, forKey: .path)
        try container.encode(identifier, forKey: .identifier)
        try container.encode(kind, forKey: .kind)
        try container.encode(state, forKey: .state)
        try container.encode(modified, forKey: .modified)
        try container.encode(pinned, forKey: .pinned)
        try container.encode(excluded, forKey: .excluded)
        try container.encode(size, forKey: .size)
        try container.encode(bytesDownloaded, forKey: .bytesDownloaded)
        try container.encode(version, forKey: .version)
        try container.encode(error, forKey: .error)
    }
}
