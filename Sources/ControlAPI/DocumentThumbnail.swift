public import struct Foundation.Data

/// A document's thumbnail, with the values that a thumbnail cache needs.
public struct DocumentThumbnail: Codable, Sendable, Equatable {
    /// PNG or JPEG.
    public var picture: Data
    /// The document's `file://` URI, as GLib writes it.
    public var uri: String
    /// When the document was modified, in seconds since 1970.
    public var modified: Int64

    public init(picture: Data, uri: String, modified: Int64) {
        self.picture = picture
        self.uri = uri
        self.modified = modified
    }
}

/// A thumbnail that a program put into a thumbnail cache.
public struct CachedThumbnailNote: Codable, Sendable, Equatable {
    /// The cache's folder.
    public var folder: String
    /// See ``DocumentThumbnail/uri``.
    public var uri: String
    /// See ``DocumentThumbnail/modified``.
    public var modified: Int64
    /// The bytes of the picture in all sizes together.
    public var bytes: Int64

    public init(folder: String, uri: String, modified: Int64, bytes: Int64) {
        self.folder = folder
        self.uri = uri
        self.modified = modified
        self.bytes = bytes
    }
}

/// The place where Hydrant keeps the thumbnail that a program gave a document.
public enum GivenThumbnail: String, Codable, Sendable, Equatable {
    /// In the store, which gets the picture with the contents or when it can be reached; other machines see it then.
    case store
    /// On this machine only: the provider keeps no thumbnails.
    case machine

    /// The largest width and height.
    public static let pixels = 1_024
    /// The largest file.
    public static let bytes = 4 << 20
}

/// Identifies contents of a document that a program saved, by size and date.
public struct SavedContents: Codable, Sendable, Equatable {
    /// In bytes.
    public var size: Int64
    /// In nanoseconds since 1970.
    public var modified: Int64

    public init(size: Int64, modified: Int64) {
        self.size = size
        self.modified = modified
    }
}

/// The state of the domain's thumbnails in the user's cache.
public struct ThumbnailStatus: Codable, Sendable, Equatable {
    public var isOn: Bool
    /// How many documents of the domain have a thumbnail there that the daemon made.
    public var documents: Int
    /// The cache; nil: the user has none.
    public var folder: String?

    public init(isOn: Bool, documents: Int, folder: String?) {
        self.isOn = isOn
        self.documents = documents
        self.folder = folder
    }

    private enum CodingKeys: String, CodingKey {
        case isOn = "on"
        case documents
        case folder
    }

    // Written by hand: the synthesized one leaves out the keys of nil values.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(isOn, forKey: .isOn)
        try container.encode(documents, forKey: .documents)
        try container.encode(folder, forKey: .folder)
    }
}
