package import Foundation

/// What a bookmark says, as its domain wrote it down: four bytes that tell what it is, the domain's signature of the rest
/// (HMAC-SHA256, RFC 2104), then this in JSON.
package struct BookmarkPayload: Codable, Sendable, Equatable {
    /// The domain's name, for people.
    package var domain: String
    package var domainID: UUID
    /// As the provider names the item for ever.
    package var identifier: String
    /// Where it was, relative to the mount point.
    package var path: PathBytes
    /// Which values were asked for.
    package var keys: Set<ResourceKey>
    /// What they were.
    package var values: ResourceValues
    /// Seconds since 1970.
    package var created: Double
    package var grant: UUID?
    /// Whether that is to write as well, for people; older bookmarks do not say.
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

    /// What a bookmark says of itself: nobody has vouched for that yet. Nil: it is none.
    package init?(unchecked bookmark: Data) {
        let bytes = [UInt8](bookmark)
        guard bytes.starts(with: Self.mark), bytes.count > Self.headLength,
            let payload = try? JSONDecoder().decode(Self.self, from: Data(bytes[Self.headLength...]))
        else { return nil }
        self = payload
    }
}
