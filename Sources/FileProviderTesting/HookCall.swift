public import FileProvider

/// The hooks of a provider, by their names in the SDK.
public enum Hook: String, Hashable, Sendable, CaseIterable {
    case providePlaceholder, enumerateItems, startProvidingItem, itemChanged, stopProvidingItem
    case createItem, moveItem, deleteItem, updateMetadata
    case currentSyncAnchor, enumerateChanges, copyItem, trashItem, thumbnail, keepThumbnail, quota, search
    case trashedItems, restoreTrashedItem, shareLink, sharedLinks, endSharedLink, setFavorite, versions,
        startProvidingVersion
}

/// One call that a provider got, for tests that count calls.
public struct HookCall: Hashable, Sendable {
    /// The hook.
    public var hook: Hook
    /// Its item; for a creation the folder, for a call about the whole store the topmost folder.
    public var identifier: ItemIdentifier
    /// The given name, for a creation, a copy or a move.
    public var filename: Filename?
    /// The target folder, for a move or a copy.
    public var folder: ItemIdentifier?
    /// The requested bytes, for a download.
    public var range: Range<Int64>?
    /// The requested contents, for a download, a copy or a thumbnail.
    public var contentVersion: ContentVersion?
    /// The base version, for a change.
    public var baseVersion: ItemVersion?
    /// The page that an enumeration starts at.
    public var page: Page?
    /// The anchor from which changes are requested.
    public var anchor: SyncAnchor?

    /// A call with its arguments; nil where the hook has none.
    public init(
        _ hook: Hook, _ identifier: ItemIdentifier, filename: Filename? = nil,
        folder: ItemIdentifier? = nil, range: Range<Int64>? = nil, contentVersion: ContentVersion? = nil,
        baseVersion: ItemVersion? = nil, page: Page? = nil, anchor: SyncAnchor? = nil
    ) {
        self.hook = hook
        self.identifier = identifier
        self.filename = filename
        self.folder = folder
        self.range = range
        self.contentVersion = contentVersion
        self.baseVersion = baseVersion
        self.page = page
        self.anchor = anchor
    }
}
