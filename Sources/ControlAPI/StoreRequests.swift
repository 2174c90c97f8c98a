/// A request about the links that the store gives out to an item.
public enum LinkRequest: Codable, Sendable, Equatable {
    /// Make another one.
    ///
    /// - Parameters:
    ///   - password: whoever opens the link is asked for it; nil: nobody is.
    ///   - until: when it ends at the latest, in seconds since 1970; nil: as late as the store allows.
    ///   - edits: allow changes with it.
    case make(password: String?, until: Double?, edits: Bool)
    case list
    /// End the one of this identifier (nil: all).
    case end(id: String?)

    /// In bytes, of a password.
    public static let longestPassword = 1_024
}

/// A link that the store gives out to an item, for everybody who has it.
///
/// In JSON every key is always there, `null` where there is no value.
public struct LinkStatus: Codable, Sendable, Equatable {
    /// The store's own name for the link.
    public var id: String
    public var url: String
    public var hasPassword: Bool
    /// When it ends, in seconds since 1970; nil: never.
    public var until: Double?
    /// Changes can be made with it.
    public var edits: Bool

    public init(id: String, url: String, hasPassword: Bool, until: Double?, edits: Bool) {
        self.id = id
        self.url = url
        self.hasPassword = hasPassword
        self.until = until
        self.edits = edits
    }

    private enum CodingKeys: String, CodingKey { case id, url, hasPassword, until, edits }

    // By hand, to keep the keys of nil values.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(url, forKey: .url)
        try container.encode(hasPassword, forKey: .hasPassword)
        try container.encode(until, forKey: .until)
        try container.encode(edits, forKey: .edits)
    }
}

/// An item in the store's trash.
///
/// In JSON every key is always there, `null` where there is no value.
public struct TrashedStatus: Codable, Sendable, Equatable {
    /// The store's own name for it in the trash.
    public var id: String
    /// Its name before.
    public var name: String
    /// Where it was: absolute, for people and scripts; invalid UTF-8 is shown as U+FFFD.
    public var path: String
    public var kind: ItemStatus.Kind
    /// In bytes.
    public var size: Int64
    /// When it was deleted, in seconds since 1970; nil: the store does not say.
    public var deleted: Double?

    public init(id: String, name: String, path: String, kind: ItemStatus.Kind, size: Int64, deleted: Double?) {
        self.id = id
        self.name = name
        self.path = path
        self.kind = kind
        self.size = size
        self.deleted = deleted
    }

    private enum CodingKeys: String, CodingKey { case id, name, path, kind, size, deleted }

    // By hand, to keep the keys of nil values.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(name, forKey: .name)
        try container.encode(path, forKey: .path)
        try container.encode(kind, forKey: .kind)
        try container.encode(size, forKey: .size)
        try container.encode(deleted, forKey: .deleted)
    }
}

/// An item that came out of the store's trash.
public struct RestoredStatus: Codable, Sendable, Equatable {
    public var id: String
    /// Where it was, as ``TrashedStatus/path``.
    public var from: String
    /// Where it is now; nil: the store does not say, or outside of the mounted folder.
    public var path: String?

    public init(id: String, from: String, path: String?) {
        self.id = id
        self.from = from
        self.path = path
    }

    private enum CodingKeys: String, CodingKey { case id, from, path }

    // By hand, to keep the keys of nil values.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(from, forKey: .from)
        try container.encode(path, forKey: .path)
    }
}
