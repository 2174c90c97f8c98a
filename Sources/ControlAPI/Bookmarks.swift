public import Foundation

/// A wish for a bookmark.
public struct BookmarkRequest: Codable, Sendable, Equatable {
    public var path: PathBytes
    /// What it is to carry of the item.
    public var values: Set<ResourceKey>
    /// Nil: it only names the item.
    public var grant: GrantRequest?

    public init(path: PathBytes, values: Set<ResourceKey> = [], grant: GrantRequest? = nil) {
        self.path = path
        self.values = values
        self.grant = grant
    }
}

/// Which values of an item a bookmark carries, as `URLResourceKey` has them.
public enum ResourceKey: String, Codable, Sendable, CaseIterable {
    case name
    /// In bytes.
    case size
    /// A uniform type identifier.
    case type
    case contentModificationDate
    case creationDate
}

/// Values of an item; nil: not asked for, or the item has none.
public struct ResourceValues: Codable, Sendable, Hashable {
    public var name: String?
    /// In bytes.
    public var size: Int64?
    /// A uniform type identifier.
    public var type: String?
    /// Seconds since 1970.
    public var contentModificationDate: Double?
    /// Seconds since 1970.
    public var creationDate: Double?

    public init(
        name: String? = nil, size: Int64? = nil, type: String? = nil, contentModificationDate: Double? = nil,
        creationDate: Double? = nil
    ) {
        self.name = name
        self.size = size
        self.type = type
        self.contentModificationDate = contentModificationDate
        self.creationDate = creationDate
    }

    /// Only these.
    package func only(_ keys: Set<ResourceKey>) -> Self {
        ResourceValues(
            name: keys.contains(.name) ? name : nil, size: keys.contains(.size) ? size : nil,
            type: keys.contains(.type) ? type : nil,
            contentModificationDate: keys.contains(.contentModificationDate) ? contentModificationDate : nil,
            creationDate: keys.contains(.creationDate) ? creationDate : nil)
    }

    /// Which of them are others there.
    package func differences(from other: Self) -> Set<ResourceKey> {
        var differing: Set<ResourceKey> = []
        if name != other.name { differing.insert(.name) }
        if size != other.size { differing.insert(.size) }
        if type != other.type { differing.insert(.type) }
        if contentModificationDate != other.contentModificationDate { differing.insert(.contentModificationDate) }
        if creationDate != other.creationDate { differing.insert(.creationDate) }
        return differing
    }
}

/// A wish for a right to an item.
public struct GrantRequest: Codable, Sendable, Equatable {
    /// The executable that may use it, absolute; nil: whoever has the bookmark.
    public var program: String?
    public var isWritable: Bool
    /// Seconds since 1970; nil: until it is revoked.
    public var until: Double?

    public init(program: String? = nil, isWritable: Bool, until: Double? = nil) {
        self.program = program
        self.isWritable = isWritable
        self.until = until
    }
}

/// A right to an item that somebody has been given.
public struct GrantStatus: Codable, Sendable, Equatable {
    public var id: String
    /// Where the item is by now, or was when the right was given; absolute, for people.
    public var path: String
    /// The executable that may use it; nil: whoever has the bookmark.
    public var program: String?
    public var isWritable: Bool
    /// Seconds since 1970.
    public var created: Double
    /// Seconds since 1970; nil: until it is revoked.
    public var until: Double?
    /// The processes that use it now.
    public var users: [Int32]

    public init(
        id: String, path: String, program: String?, isWritable: Bool, created: Double, until: Double?, users: [Int32]
    ) {
        self.id = id
        self.path = path
        self.program = program
        self.isWritable = isWritable
        self.created = created
        self.until = until
        self.users = users
    }

    private enum CodingKeys: String, CodingKey {
        case id, path, program
        case isWritable = "writable"
        case created, until, users
    }

    // By hand, as everywhere where scripts read it: the keys of nil values stay.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(path, forKey: .path)
        try container.encode(program, forKey: .program)
        try container.encode(isWritable, forKey: .isWritable)
        try container.encode(created, forKey: .created)
        try container.encode(until, forKey: .until)
        try container.encode(users, forKey: .users)
    }
}

/// What a bookmark stands for now.
public struct ResolvedBookmark: Codable, Sendable, Equatable {
    /// Relative to the mount point.
    public var path: PathBytes
    /// In which the bookmark and the item differ: `path`, `identifier`, `grant`, or a ``ResourceKey``; empty: it is as it was.
    public var stale: Set<String>
    /// Of those keys that the bookmark carries.
    public var values: ResourceValues
    /// The right that it carries, if that is still good.
    public var grant: GrantStatus?

    public init(path: PathBytes, stale: Set<String>, values: ResourceValues, grant: GrantStatus?) {
        self.path = path
        self.stale = stale
        self.values = values
        self.grant = grant
    }
}

/// A wish to use what a bookmark grants.
public struct AccessRequest: Codable, Sendable, Equatable {
    public var bookmark: Data
    /// The process that is going to use it.
    public var pid: Int32
    /// What `hydrant access` is going to run, absolute; of other programs the kernel says what they are.
    public var program: String?

    public init(bookmark: Data, pid: Int32, program: String? = nil) {
        self.bookmark = bookmark
        self.pid = pid
        self.program = program
    }
}

/// Where an item can be used that was granted.
public struct ScopedAccess: Codable, Sendable, Equatable {
    public var token: String
    /// The folder in which it is all that there is; absolute.
    public var folder: String
    /// Its name there now.
    public var name: PathBytes
    public var isWritable: Bool

    public init(token: String, folder: String, name: PathBytes, isWritable: Bool) {
        self.token = token
        self.folder = folder
        self.name = name
        self.isWritable = isWritable
    }
}
