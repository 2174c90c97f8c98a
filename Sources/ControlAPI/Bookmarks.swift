public import Foundation

/// A request for a bookmark.
public struct BookmarkRequest: Codable, Sendable, Equatable {
    public var path: PathBytes
    /// The item's values to put into the bookmark.
    public var values: Set<ResourceKey>
    /// The right to put into the bookmark; nil: the bookmark only names the item.
    public var grant: GrantRequest?

    public init(path: PathBytes, values: Set<ResourceKey> = [], grant: GrantRequest? = nil) {
        self.path = path
        self.values = values
        self.grant = grant
    }
}

/// The values of an item that a bookmark can carry, named as in `URLResourceKey`.
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

    /// The values of these keys; the others nil.
    package func only(_ keys: Set<ResourceKey>) -> Self {
        ResourceValues(
            name: keys.contains(.name) ? name : nil, size: keys.contains(.size) ? size : nil,
            type: keys.contains(.type) ? type : nil,
            contentModificationDate: keys.contains(.contentModificationDate) ? contentModificationDate : nil,
            creationDate: keys.contains(.creationDate) ? creationDate : nil)
    }

    /// The keys whose values differ.
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

/// A request for a right to an item.
public struct GrantRequest: Codable, Sendable, Equatable {
    /// The absolute path of the executable that may use the right; nil: any program with the bookmark.
    public var program: String?
    public var isWritable: Bool
    /// When the right ends, in seconds since 1970; nil: when it is revoked.
    public var until: Double?

    public init(program: String? = nil, isWritable: Bool, until: Double? = nil) {
        self.program = program
        self.isWritable = isWritable
        self.until = until
    }
}

/// A right to an item that was given to a program.
public struct GrantStatus: Codable, Sendable, Equatable {
    public var id: String
    /// The item's present path, or its path when the right was given; absolute, for people.
    public var path: String
    /// The executable that may use the right; nil: any program with the bookmark.
    public var program: String?
    public var isWritable: Bool
    /// Seconds since 1970.
    public var created: Double
    /// When the right ends, in seconds since 1970; nil: when it is revoked.
    public var until: Double?
    /// The processes that use the right now.
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

/// The item of a bookmark, as it is now.
public struct ResolvedBookmark: Codable, Sendable, Equatable {
    /// Relative to the mount point.
    public var path: PathBytes
    /// The fields in which bookmark and item differ: `path`, `identifier`, `grant`, or a ``ResourceKey``; empty: none.
    public var stale: Set<String>
    /// The present values of the bookmark's keys.
    public var values: ResourceValues
    /// The bookmark's right, if it is still valid.
    public var grant: GrantStatus?

    public init(path: PathBytes, stale: Set<String>, values: ResourceValues, grant: GrantStatus?) {
        self.path = path
        self.stale = stale
        self.values = values
        self.grant = grant
    }
}

/// A request to use a bookmark's right.
public struct AccessRequest: Codable, Sendable, Equatable {
    public var bookmark: Data
    /// The process that is going to use the right.
    public var pid: Int32
    /// The absolute path of the program that `hydrant access` is going to run; nil: the kernel names the program.
    public var program: String?

    public init(bookmark: Data, pid: Int32, program: String? = nil) {
        self.bookmark = bookmark
        self.pid = pid
        self.program = program
    }
}

/// The place of a granted item.
public struct ScopedAccess: Codable, Sendable, Equatable {
    public var token: String
    /// The absolute path of a folder that holds only the item.
    public var folder: String
    /// The item's present name in the folder.
    public var name: PathBytes
    public var isWritable: Bool

    public init(token: String, folder: String, name: PathBytes, isWritable: Bool) {
        self.token = token
        self.folder = folder
        self.name = name
        self.isWritable = isWritable
    }
}
