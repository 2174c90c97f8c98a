package import Foundation

/// The contents of a bookmark. A bookmark is four bytes of magic, the domain's signature of the rest (HMAC-SHA256, RFC
/// 2104), then this in JSON.
package struct BookmarkPayload: Codable, Sendable, Equatable {
    /// The domain's name, for people.
    package var domain: String
    package var domainID: UUID
    /// The provider's persistent identifier of the item.
    package var identifier: String
    /// The item's path when the bookmark was made, relative to the mount point.
    package var path: PathBytes
    /// The values that were asked for.
    package var keys: Set<ResourceKey>
    /// The values when the bookmark was made.
    package var values: ResourceValues
    /// Seconds since 1970.
    package var created: Double
    package var grant: UUID?
    /// Whether the right includes writing, for people; nil in older bookmarks.
    package var isWritable: Bool?

    package init(
        domain: String, domainID: UUID, identifier: String, path: PathBytes, keys: Set<ResourceKey>,
        values: ResourceValues, created: Double, grant: UUID?, isWritable: Bool? = nil
    ) {
        self.domain = domain
        self.domainID = domainID
        self.identifier = identifier
        self.path = path
        self.keys = keys
        self.values = values
        self.created = created
        self.grant = grant
        self.isWritable = isWritable
    }

    package static let mark = Array("HYB1".utf8)
    package static let signatureLength = 32
    package static let headLength = mark.count + signatureLength

    /// Decodes a bookmark without checking its signature. Nil: the data is no bookmark.
    package init?(unchecked bookmark: Data) {
        let bytes = [UInt8](bookmark)
        guard bytes.starts(with: Self.mark), bytes.count > Self.headLength,
            let payload = try? JSONDecoder().decode(Self.self, from: Data(bytes[Self.headLength...]))
        else { return nil }
        self = payload
    }
}
