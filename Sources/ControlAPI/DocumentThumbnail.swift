public import struct Foundation.Data

/// A small picture of a document, and what a cache of thumbnails goes by.
public struct DocumentThumbnail: Codable, Sendable, Equatable {
    /// PNG or JPEG.
    public var picture: Data
    /// The document's, `file://…`, as GLib writes it.
    public var uri: String
    /// When the document was modified, in seconds since 1970.
    public var modified: Int64

    public init(picture: Data, uri: String, modified: Int64) {
        self.picture = picture
        self.uri = uri
        self.modified = modified
    }
}
