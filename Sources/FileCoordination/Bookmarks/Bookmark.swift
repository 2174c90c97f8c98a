import ControlAPI
public import Foundation

/// Names an item for as long as it exists: through renames, moves, evictions, restarts of the daemon and remounts.
///
/// It holds the domain and the identifier that the provider has given the item for ever, the values that were asked
/// for, and perhaps a right to the item (``SecurityScope``). It is signed with a key that only the domain's daemon has,
/// so nobody else can make one, or a larger right out of a smaller one. Keep it instead of a path.
///
/// Source: Apple, `URL.bookmarkData(options:includingResourceValuesForKeys:relativeTo:)`.
public struct Bookmark: Sendable, Hashable {
    /// To be kept wherever the program likes.
    public let data: Data

    /// A bookmark that was kept. Whether it is one is seen when it is resolved.
    public init(data: Data) { self.data = data }

    /// From ``text``, or from what a reference document holds (``ReferenceDocument``). Nil: it is neither.
    public init?(text: String) {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        if let reference = ReferenceDocument(json: Data(trimmed.utf8)) {
            self = reference.bookmark
            return
        }
        var base64 = trimmed.replacing("-", with: "+").replacing("_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
        guard let data = Data(base64Encoded: base64), !data.isEmpty else { return nil }
        self.data = data
    }

    /// For scripts: one word (base64 of RFC 4648, section 5, without padding).
    public var text: String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Makes a bookmark of an item of a mounted domain. Nothing is downloaded.
    ///
    /// - Parameters:
    ///   - keys: what the bookmark carries of the item.
    ///   - scope: a right to the item, which the domain remembers when this returns; nil: none.
    /// - Throws: ``CoordinationError``.
    public static func make(
        of url: URL, including keys: Set<ResourceKey> = [], scope: SecurityScope? = nil
    ) async throws -> Bookmark {
        let place = try await ItemPlace.find(url)
        let request = BookmarkRequest(
            path: place.path, values: Set(keys.map(\.key)), grant: scope.map { GrantRequest($0) })
        guard case .bookmark(let data) = try await DomainConnection.ask(place.mountPoint, .makeBookmark(request)) else {
            throw CoordinationError(
                .refused, "\(place.mountPoint): unexpected answer from the daemon; unmount and mount again")
        }
        return Bookmark(data: data)
    }

    /// The bookmark made anew, as the item is now: for one that is stale (``Resolved/isStale``). It carries the same
    /// right, not another one; the bookmark before is as good as it was.
    ///
    /// - Throws: as ``resolve()``.
    public func renewed() async throws -> Bookmark {
        let found = try await DomainConnection.find(self)
        guard case .bookmark(let data) = try await DomainConnection.ask(found.mountPoint, .renewBookmark(data)) else {
            throw CoordinationError(
                .refused, "\(found.mountPoint): unexpected answer from the daemon; unmount and mount again")
        }
        return Bookmark(data: data)
    }

    /// Where the item is now.
    ///
    /// - Throws: ``CoordinationError``; ``CoordinationError/Code/noSuchItem`` when the item is gone,
    ///   ``CoordinationError/Code/notInADomain`` when no mounted domain has made the bookmark.
    public func resolve() async throws -> Resolved {
        let found = try await DomainConnection.find(self)
        let path =
            found.mountPoint + (found.answer.path.bytes.isEmpty ? "" : "/" + ByteText.text(found.answer.path.bytes))
        let url = ByteText.url(path)
        let scoped = found.answer.grant.map {
            SecurityScopedURL(url, bookmark: self, mountPoint: found.mountPoint, isWritable: $0.isWritable)
        }
        return Resolved(
            url: url, scopedURL: scoped, stale: found.answer.stale, resourceValues: ResourceValues(found.answer.values))
    }

    /// What a bookmark stands for.
    public struct Resolved: Sendable {
        /// Where the item is, in the mounted domain.
        public let url: URL
        /// With the right that the bookmark carries; nil: it carries none (any more).
        public let scopedURL: SecurityScopedURL?
        /// In which the bookmark is not as the item is any more: `path`, `identifier`, `grant`, or a ``ResourceKey``.
        public let stale: Set<String>
        /// Whether to make the bookmark anew and keep that. It is good as long as the item exists all the same.
        public var isStale: Bool { !stale.isEmpty }
        /// Of those keys that the bookmark carries, as they are now.
        public let resourceValues: ResourceValues
    }

    /// What a bookmark says of itself.
    public struct Contents: Sendable {
        /// The domain's name.
        public let domain: String
        /// Where the item was, relative to the domain's mount point. Bytes that are no UTF-8 are U+FFFD.
        public let path: String
        /// What goes with the bookmark.
        public let right: Right
        /// Of the keys that were asked for.
        public let resourceValues: ResourceValues

        /// A right to the item.
        public enum Right: String, Sendable {
            /// There is none.
            case none
            /// To read it.
            case read
            /// To write it as well.
            case write
            /// One that is older than bookmarks that say which.
            case some
        }
    }

    /// What the bookmark says, as it was when it was made; without asking anybody. Whether somebody changed it is only
    /// seen when it is resolved.
    public var contents: Contents? {
        BookmarkPayload(unchecked: data).map { payload in
            let right: Contents.Right =
                payload.grant == nil ? .none : payload.isWritable.map { $0 ? .write : .read } ?? .some
            return Contents(
                domain: payload.domain, path: payload.path.string, right: right,
                resourceValues: ResourceValues(payload.values))
        }
    }

    /// What the bookmark carries, as it was when it was made; without asking anybody. Whether somebody changed it is
    /// only seen when it is resolved.
    public var resourceValues: ResourceValues? {
        BookmarkPayload(unchecked: data).map { ResourceValues($0.values) }
    }
}

/// Values of an item that a bookmark can carry.
///
/// Source: Apple, `URLResourceKey`.
public enum ResourceKey: String, Sendable, Hashable, CaseIterable {
    /// Its last path component.
    case name
    /// In bytes; folders have none.
    case size
    /// A uniform type identifier.
    case type
    /// Last change of its contents.
    case contentModificationDate
    /// When it was made.
    case creationDate

    var key: ControlAPI.ResourceKey { ControlAPI.ResourceKey(rawValue: rawValue)! }
}

/// Values of an item; nil: not asked for, or it has none.
///
/// Source: Apple, `URLResourceValues`.
public struct ResourceValues: Sendable, Hashable {
    /// Its last path component.
    public let name: String?
    /// In bytes.
    public let size: Int64?
    /// A uniform type identifier.
    public let type: String?
    /// Last change of its contents.
    public let contentModificationDate: Date?
    /// When it was made.
    public let creationDate: Date?

    init(_ values: ControlAPI.ResourceValues) {
        name = values.name
        size = values.size
        type = values.type
        contentModificationDate = values.contentModificationDate.map { Date(timeIntervalSince1970: $0) }
        creationDate = values.creationDate.map { Date(timeIntervalSince1970: $0) }
    }
}

/// A right to an item: for whom, what, until when.
public struct SecurityScope: Sendable, Hashable {
    /// What may be done with it.
    public enum Access: String, Sendable, Hashable, CaseIterable {
        /// It is shown read-only.
        case read
        /// It may be changed, replaced and removed.
        case write
    }

    /// The absolute path of the executable that may use it; nil: whoever has the bookmark. Of an interpreted program
    /// that is the interpreter.
    public var program: String?
    /// What may be done.
    public var access: Access
    /// Nil: until it is revoked (`hydrant grants --revoke`).
    public var until: Date?

    /// See the properties.
    public init(_ access: Access, for program: String? = nil, until: Date? = nil) {
        self.access = access
        self.program = program
        self.until = until
    }
}

extension GrantRequest {
    fileprivate init(_ scope: SecurityScope) {
        self.init(program: scope.program, isWritable: scope.access == .write, until: scope.until?.timeIntervalSince1970)
    }
}
