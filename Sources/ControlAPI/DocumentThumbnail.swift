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

/// A picture in a cache of thumbnails.
public struct CachedThumbnailNote: Codable, Sendable, Equatable {
    /// The cache.
    public var folder: String
    /// See ``DocumentThumbnail/uri``.
    public var uri: String
    /// See ``DocumentThumbnail/modified``.
    public var modified: Int64
    /// In all sizes.
    public var bytes: Int64

    public init(folder: String, uri: String, modified: Int64, bytes: Int64) {
        self.folder = folder
        self.uri = uri
        self.modified = modified
        self.bytes = bytes
    }
}

/// Where the picture is kept that a program gave a document.
public enum GivenThumbnail: String, Codable, Sendable, Equatable {
    /// The store gets it, with the contents or when it can be reached: other machines have it then.
    case store
    /// Its provider keeps none: this machine alone has it.
    case machine

    /// Width and height at most.
    public static let pixels = 1_024
    /// At most.
    public static let bytes = 4 << 20
}

/// Which contents of a document a program means: those that it had with this size and date.
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

/// How the user's cache of thumbnails is kept.
public struct ThumbnailStatus: Codable, Sendable, Equatable {
    public var isOn: Bool
    /// Of how many documents of the domain it has a picture that the daemon has put there.
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
