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

    /// See the properties.
    public init(permissions: UInt16? = nil, tags: [String]? = nil, extendedAttributes: [String: Data?] = [:]) {
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
