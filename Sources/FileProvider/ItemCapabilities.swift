/// What may be done with an item. What may not shows in its permission bits, and is refused to programs (EACCES) before
/// the store is asked.
///
/// A courtesy to programs, not a lock: the store refuses by itself as well, with
/// ``FileProviderError/Code/permissionDenied``.
///
/// Source: Apple, `NSFileProviderItemCapabilities`.
public struct ItemCapabilities: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt8
    /// - Parameter rawValue: the bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Its contents may be downloaded; of a folder, that it may be listed.
    public static let reading = ItemCapabilities(rawValue: 1)
    /// A document's contents, dates, mode and attributes may be changed.
    public static let writing = ItemCapabilities(rawValue: 2)
    /// It may get another name, or another folder.
    public static let renaming = ItemCapabilities(rawValue: 4)
    /// It may be deleted.
    public static let deleting = ItemCapabilities(rawValue: 8)
    /// Items may be made in this folder or moved into it.
    public static let addingSubItems = ItemCapabilities(rawValue: 16)

    /// Everything; the default.
    public static let all: ItemCapabilities = [.reading, .writing, .renaming, .deleting, .addingSubItems]
    /// Nothing but to look and to download.
    public static let readOnly: ItemCapabilities = .reading
}
