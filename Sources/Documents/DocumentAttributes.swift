public import Foundation

/// What is written with a document's contents, besides them. What is nil stays as it is.
///
/// Source: Apple, `UIDocument.fileAttributesToWrite(to:for:)`.
public struct DocumentAttributes: Sendable, Hashable {
    /// Permission bits; nil: those of the file before, or of any new file.
    public var permissions: UInt16?
    /// What file managers call tags (`user.xdg.tags`).
    public var tags: [String]?
    /// By name, which begins with `user.`; nil as a value removes one.
    public var extendedAttributes: [String: Data?]

    /// A picture of the document, which goes with these contents to other machines where the store can keep one: a PNG of at most
    /// 1,024 × 1,024 pixels and 4 MiB. The document is saved whatever becomes of it. Packages, and files outside of mounted domains,
    /// have none.
    public var thumbnail: Thumbnail?

    /// Where a picture is.
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

    /// All that are set as attributes of a file, tags as well.
    var all: [String: Data?] {
        var all = extendedAttributes
        if let tags { all["user.xdg.tags"] = tags.isEmpty ? .some(nil) : Data(tags.joined(separator: ",").utf8) }
        return all
    }
}
