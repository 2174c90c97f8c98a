import ControlAPI
public import Foundation

/// Names an item for as long as it exists: through renames, moves, evictions, restarts of the daemon and remounts.
///
/// A bookmark holds the domain, the provider's persistent identifier of the item, the values that were asked for, and
/// perhaps a right to the item (``SecurityScope``). The domain's daemon signs it with its own key, so nobody else can
/// make a bookmark, or enlarge a right. Keep it instead of a path.
///
/// Source: Apple, `URL.bookmarkData(options:includingResourceValuesForKeys:relativeTo:)`.
public struct Bookmark: Sendable, Hashable {
    /// The bookmark's bytes, for the program to keep.
    public let data: Data

    /// Makes a bookmark from kept bytes, which are checked when it is resolved.
    public init(data: Data) { self.data = data }

    /// Reads ``text``, or the contents of a reference document (``ReferenceDocument``). Nil: the text is neither.
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

    /// Makes a bookmark of an item in a mounted domain. Downloads nothing.
    ///
    /// - Parameters:
    ///   - keys: the item's values to put into the bookmark.
    ///   - scope: a right to the item, which the domain has recorded when this returns; nil: none.
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

    /// A new bookmark of the item as it is now: for a stale bookmark (``Resolved/isStale``). It carries the same right,
    /// not another one; the old bookmark stays valid.
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

    /// Finds the item.
    ///
    /// - Throws: ``CoordinationError``; ``CoordinationError/Code/noSuchItem`` when the item is gone,
    ///   ``CoordinationError/Code/notInADomain`` when no mounted domain made the bookmark.
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

    /// The item of a bookmark.
    public struct Resolved: Sendable {
        /// The item's present place in the mounted domain.
        public let url: URL
        /// The item with the bookmark's right; nil: the bookmark has none, or it has ended.
        public let scopedURL: SecurityScopedURL?
        /// The fields in which bookmark and item differ: `path`, `identifier`, `grant`, or a ``ResourceKey``.
        public let stale: Set<String>
        /// Whether to renew the bookmark and keep the new one. A stale bookmark still works as long as the item exists.
        public var isStale: Bool { !stale.isEmpty }
        /// The present values of the bookmark's keys.
        public let resourceValues: ResourceValues
    }

    /// The contents of a bookmark.
    public struct Contents: Sendable {
        /// The domain's name.
        public let domain: String
        /// The item's path when the bookmark was made, relative to the domain's mount point. Invalid UTF-8 is shown as
        /// U+FFFD.
        public let path: String
        /// The right in the bookmark.
        public let right: Right
        /// The values of the keys that were asked for.
        public let resourceValues: ResourceValues

        /// A right to the item.
        public enum Right: String, Sendable {
            /// No right.
            case none
            /// Reading.
            case read
            /// Reading and writing.
            case write
            /// A right in an older bookmark, which does not name it.
            case some
        }
    }

    /// The bookmark's contents from when it was made, without asking a daemon. Only ``resolve()`` checks the signature.
    public var contents: Contents? {
        BookmarkPayload(unchecked: data).map { payload in
            let right: Contents.Right =
                payload.grant == nil ? .none : payload.isWritable.map { $0 ? .write : .read } ?? .some
            return Contents(
                domain: payload.domain, path: payload.path.string, right: right,
                resourceValues: ResourceValues(payload.values))
        }
    }

    /// The bookmark's values from when it was made, without asking a daemon. Only ``resolve()`` checks the signature.
    public var resourceValues: ResourceValues? {
        BookmarkPayload(unchecked: data).map { ResourceValues($0.values) }
    }
}

/// Values of an item that a bookmark can carry.
///
/// Source: Apple, `URLResourceKey`.
public enum ResourceKey: String, Sendable, Hashable, CaseIterable {
    /// The last path component.
    case name
    /// In bytes; folders have none.
    case size
    /// A uniform type identifier.
    case type
    /// The last change of the contents.
    case contentModificationDate
    /// The creation.
    case creationDate

    var key: ControlAPI.ResourceKey { ControlAPI.ResourceKey(rawValue: rawValue)! }
}

/// Values of an item; nil: not asked for, or the item has none.
///
/// Source: Apple, `URLResourceValues`.
public struct ResourceValues: Sendable, Hashable {
    /// The last path component.
    public let name: String?
    /// In bytes.
    public let size: Int64?
    /// A uniform type identifier.
    public let type: String?
    /// The last change of the contents.
    public let contentModificationDate: Date?
    /// The creation.
    public let creationDate: Date?

    init(_ values: ControlAPI.ResourceValues) {
        name = values.name
        size = values.size
        type = values.type
        contentModificationDate = values.contentModificationDate.map { Date(timeIntervalSince1970: $0) }
        creationDate = values.creationDate.map { Date(timeIntervalSince1970: $0) }
    }
}

/// A right to an item: the kind of access, the executable, and the end.
public struct SecurityScope: Sendable, Hashable {
    /// The kinds of access.
    public enum Access: String, Sendable, Hashable, CaseIterable {
        /// The item is read-only.
        case read
        /// The item may be changed, replaced and removed.
        case write
    }

    /// The absolute path of the executable that may use the right (for an interpreted program, the interpreter); nil:
    /// any program with the bookmark.
    public var program: String?
    /// The kind of access.
    public var access: Access
    /// When the right ends; nil: when it is revoked (`hydrant grants --revoke`).
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
