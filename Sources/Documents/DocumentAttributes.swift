public import Foundation

/// Attributes that are written with a document's contents. Nil leaves an attribute unchanged.
///
/// Source: Apple, `UIDocument.fileAttributesToWrite(to:for:)`.
public struct DocumentAttributes: Sendable, Hashable {
    /// Permission bits; nil: those of the earlier file, or the default of a new file.
    public var permissions: UInt16?
    /// File managers' tags (`user.xdg.tags`).
    public var tags: [String]?
    /// Extended attributes by name, which begins with `user.`; a nil value removes the attribute.
    public var extendedAttributes: [String: Data?]

    /// The document's thumbnail, a PNG of at most 1,024 × 1,024 pixels and 4 MiB. It goes with these contents to other
    /// machines, if the store can keep it. A failure to set it does not fail the save. Packages, and files outside of
    /// mounted domains, have no thumbnail.
    public var thumbnail: Thumbnail?

    /// The source of a thumbnail.
    public enum Thumbnail: Sendable, Hashable {
        /// The bytes of a PNG.
        case png(Data)
        /// A PNG file, which is read when the document is saved.
        case file(URL)
    }

    /// See the properties.
    public init(
        permissions: UInt16? = nil, tags: [String]? = nil, extendedAttributes: [String: Data?] = [:],
        thumbnail: Thumbnail? = nil
    ) {
        self.thumbnail = thumbnail
        self.permissions = permissions
        self.tags = tags
        self.extendedAttributes = extendedAttributes
    }

    /// All extended attributes to set, tags included.
    var all: [String: Data?] {
        var all = extendedAttributes
        if let tags { all["user.xdg.tags"] = tags.isEmpty ? .some(nil) : Data(tags.joined(separator: ",").utf8) }
        return all
    }
}
