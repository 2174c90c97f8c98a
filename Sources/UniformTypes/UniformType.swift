/// The type of a document, as a uniform type identifier: `public.jpeg`, `com.adobe.pdf`.
///
/// Types with equal identifiers are equal. A ``UniformTypeTable`` knows which types conform to which.
///
/// Source: Apple, *Uniform Type Identifiers Overview*.
public struct UniformType: Sendable, Hashable, CustomStringConvertible {
    /// In the given spelling; comparisons ignore case.
    public let identifier: String

    /// - Parameter identifier: any identifier, known to a table or not.
    public init(_ identifier: String) { self.identifier = identifier }

    /// The identifier.
    public var description: String { identifier }

    /// See ``identifier``.
    public static func == (one: Self, other: Self) -> Bool {
        one.identifier.lowercased() == other.identifier.lowercased()
    }

    /// See ``identifier``.
    public func hash(into hasher: inout Hasher) { hasher.combine(identifier.lowercased()) }

    /// Anything with a name: documents and folders.
    public static let item = UniformType("public.item")
    /// Anything that a person may want to open: every document.
    public static let content = UniformType("public.content")
    /// Bytes.
    public static let data = UniformType("public.data")
    /// A folder.
    public static let folder = UniformType("public.folder")
    /// A symbolic link.
    public static let symbolicLink = UniformType("public.symlink")

    /// The prefix of an identifier made from a MIME type without one. (Apple's dynamic identifiers begin with `dyn.` as
    /// well.)
    static let dynamicPrefix = "dyn.mime."

    /// The type of a MIME type without an identifier.
    static func dynamic(mimeType: String) -> UniformType { UniformType(dynamicPrefix + mimeType) }

    /// The MIME type of a type that ``dynamic(mimeType:)`` made.
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
