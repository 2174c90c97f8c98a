/// A version that the store keeps of a document, besides its present contents.
public struct VersionStatus: Codable, Sendable, Equatable {
    /// The store's name for it.
    public var identifier: String
    /// In bytes.
    public var size: Int64
    /// When the contents were written, in seconds since 1970.
    public var modified: Double
    /// The person who wrote them; nil: not known.
    public var author: String?
    /// The name that a person gave the version.
    public var label: String?

    public init(identifier: String, size: Int64, modified: Double, author: String? = nil, label: String? = nil) {
        self.identifier = identifier
        self.size = size
        self.modified = modified
        self.author = author
        self.label = label
    }
}
