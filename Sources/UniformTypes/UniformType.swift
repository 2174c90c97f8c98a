/// What kind of thing a document is, as a uniform type identifier: `public.jpeg`, `com.adobe.pdf`.
///
/// Two are the same if their identifiers are. What conforms to what is known to a ``UniformTypeTable``.
///
/// Source: Apple, *Uniform Type Identifiers Overview*.
public struct UniformType: Sendable, Hashable, CustomStringConvertible {
    /// In the spelling that was given; compared without regard to case.
    public let identifier: String

    /// - Parameter identifier: taken as it is, also if no table knows it.
    public init(_ identifier: String) { self.identifier = identifier }

    /// The identifier.
    public var description: String { identifier }

    /// See ``identifier``.
    public static func == (one: Self, other: Self) -> Bool {
        one.identifier.lowercased() == other.identifier.lowercased()
    }

    /// See ``identifier``.
    public func hash(into hasher: inout Hasher) { hasher.combine(identifier.lowercased()) }

    /// Everything that has a name: documents and folders.
    public static let item = UniformType("public.item")
    /// Whatever a person may want to open: every document.
    public static let content = UniformType("public.content")
    /// Bytes.
    public static let data = UniformType("public.data")
    /// A folder.
    public static let folder = UniformType("public.folder")
    /// A symbolic link.
    public static let symbolicLink = UniformType("public.symlink")

    /// Before a MIME type that has no uniform type identifier of its own. (Apple's dynamic identifiers begin with `dyn.`
    /// as well, and are good for nothing but coming back.)
    static let dynamicPrefix = "dyn.mime."

    /// The type that a MIME type without an identifier is.
    static func dynamic(mimeType: String) -> UniformType { UniformType(dynamicPrefix + mimeType) }

    /// Of one that ``dynamic(mimeType:)`` made.
    var dynamicMIMEType: String? {
        let lowercased = identifier.lowercased()
        return lowercased.hasPrefix(Self.dynamicPrefix) ? String(lowercased.dropFirst(Self.dynamicPrefix.count)) : nil
    }
}

extension UniformType: Codable {
    /// From its identifier.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// As its identifier.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(identifier)
    }
}
