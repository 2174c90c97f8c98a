/// A persistent name for an item, chosen by its provider.
///
/// It names the same document after a rename, a move, an eviction and a restart. Hydrant never
/// looks inside it; it may be up to 1,024 bytes of UTF-8. A store without identifiers of its own may
/// use the relative path: then a rename gives an item a new identifier, which the provider says by
/// returning an ``Item`` that carries it.
///
/// Source: Apple, `NSFileProviderItemIdentifier`.
public struct ItemIdentifier: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// The domain's topmost folder; every provider knows it under this identifier.
    public static let rootContainer = ItemIdentifier("NSFileProviderRootContainerItemIdentifier")

    public var description: String { rawValue }
}
