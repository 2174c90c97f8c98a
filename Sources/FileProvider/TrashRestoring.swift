/// An item in a store's trash.
public struct TrashEntry: Hashable, Sendable {
    /// The store's own name for the item in the trash, unique there; at most 1,024 bytes.
    public var identifier: String
    /// Where it was: the names on the way to it from the topmost folder, its own name last. The folders may be gone.
    public var path: [Filename]
    /// The kind of the item.
    public var kind: ItemKind
    /// In bytes; of a folder, of all that is in it, or 0 where the store does not say.
    public var size: Int64
    /// When it was deleted; nil: the store does not say.
    public var deleted: FileTime?

    /// An item as the trash has it.
    public init(identifier: String, path: [Filename], kind: ItemKind, size: Int64, deleted: FileTime?) {
        self.identifier = identifier
        self.path = path
        self.kind = kind
        self.size = size
        self.deleted = deleted
    }

    /// The largest number of items in a trash that Hydrant takes.
    public static let most = 100_000

    /// Why Hydrant does not show this item; nil when it does.
    public var problem: String? {
        if identifier.isEmpty || identifier.utf8.count > 1_024 { return "its identifier is empty or too long" }
        if path.isEmpty || path.count > 1_024 { return "its place is unknown" }
        if size < 0 { return "its size is negative" }
        return path.lazy.compactMap(\.problem).first
    }
}

/// A provider whose trash can be looked into: users see what is in it, and put items back.
///
/// Source: Nextcloud, developer manual, WebDAV, trashbin; freedesktop.org, Trash specification 1.0.
public protocol TrashRestoring: Trashing {
    /// What is in the trash of this store and was below the mounted folder, in any order; at most
    /// ``TrashEntry/most``, of more the last deleted. The items of a deleted folder are not listed one by one.
    ///
    /// - Throws: ``FileProviderError/Code/unsupported`` when this store has no trash after all.
    func trashedItems() async throws(FileProviderError) -> [TrashEntry]

    /// Takes an item out of the trash, to the place where it was. If its folder is gone, the store chooses another, and
    /// if its name is taken, another name: nothing is replaced.
    ///
    /// - Parameter trashed: ``TrashEntry/identifier``.
    /// - Returns: where the item is now: the names on the way to it from the topmost folder, its own name last; nil: it
    ///   is outside of the mounted folder, or the store does not tell.
    /// - Throws: ``FileProviderError/Code/noSuchItem`` when the trash has no such item (any more).
    func restoreTrashedItem(_ trashed: String) async throws(FileProviderError) -> [Filename]?
}

/// Collects the items of a trash; of more than fit, those that were deleted last.
package struct NewestTrash {
    private let most: Int
    private var all: [TrashEntry] = []

    /// - Parameter most: the number of items kept.
    package init(most: Int = TrashEntry.most) { self.most = most }

    package var entries: [TrashEntry] { all.count > most ? Array(newest) : all }

    package mutating func add(_ entry: TrashEntry) {
        all.append(entry)
        // (Sorted once for each so many.)
        if all.count >= 2 * most { all = Array(newest) }
    }

    private var newest: ArraySlice<TrashEntry> {
        all.sorted { ($1.deleted?.nanoseconds ?? .min) < ($0.deleted?.nanoseconds ?? .min) }.prefix(most)
    }
}
