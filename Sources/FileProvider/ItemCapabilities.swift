/// The operations that a store allows on an item. An operation that is not allowed is missing from the permission bits,
/// and programs get EACCES before the store is asked.
///
/// This helps programs and protects nothing: the provider refuses by itself as well, with
/// ``FileProviderError/Code/permissionDenied``.
///
/// Source: Apple, `NSFileProviderItemCapabilities`.
public struct ItemCapabilities: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt8
    /// - Parameter rawValue: the bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Download the contents of a document; list a folder.
    public static let reading = ItemCapabilities(rawValue: 1)
    /// Change a document's contents, dates, mode and attributes.
    public static let writing = ItemCapabilities(rawValue: 2)
    /// Give the item another name, or another folder.
    public static let renaming = ItemCapabilities(rawValue: 4)
    /// Delete the item.
    public static let deleting = ItemCapabilities(rawValue: 8)
    /// Create items in this folder or move items into it.
    public static let addingSubItems = ItemCapabilities(rawValue: 16)

    /// All operations; the default.
    public static let all: ItemCapabilities = [.reading, .writing, .renaming, .deleting, .addingSubItems]
    /// Only to look and to download.
    public static let readOnly: ItemCapabilities = .reading
}
