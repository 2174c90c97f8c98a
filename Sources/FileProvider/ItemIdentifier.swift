/// A persistent name for an item, chosen by its provider.
///
/// It names the same document after a rename, a move, an eviction and a restart. Hydrant never looks inside it; it may
/// be up to 1,024 bytes of UTF-8. Two identifiers are equal when their bytes are (unlike Swift's strings, for which a
/// precomposed “é” equals an “e” with a combining accent). A store without identifiers of its own may use the relative
/// path: a rename then gives an item a new identifier, and the provider returns an ``Item`` that carries it.
///
/// Source: Apple, `NSFileProviderItemIdentifier`.
public struct ItemIdentifier: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The provider's own text for the item.
    public let rawValue: String

    /// - Parameter rawValue: at most 1,024 bytes of UTF-8.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// As ``init(rawValue:)``.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// The domain's topmost folder, under the same identifier for every provider.
    public static let rootContainer = ItemIdentifier("NSFileProviderRootContainerItemIdentifier")

    /// Compares bytes.
    public static func == (a: ItemIdentifier, b: ItemIdentifier) -> Bool {
        a.rawValue.utf8.elementsEqual(b.rawValue.utf8)
    }

    /// Hashes the bytes that `==` compares.
    public func hash(into hasher: inout Hasher) {
        var text = rawValue
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// As ``rawValue``.
    public var description: String { rawValue }
}
