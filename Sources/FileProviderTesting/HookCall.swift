public import FileProvider

/// The calls that a provider gets, by the names that they have in the SDK.
public enum Hook: String, Hashable, Sendable, CaseIterable {
    case providePlaceholder, enumerateItems, startProvidingItem, itemChanged, stopProvidingItem
    case createItem, moveItem, deleteItem, updateMetadata
    case currentSyncAnchor, enumerateChanges, copyItem, trashItem, thumbnail, keepThumbnail, quota, search
}

/// One call that a provider got, as a test wants to count it.
public struct HookCall: Hashable, Sendable {
    /// Which one it is.
    public var hook: Hook
    /// The item it is about; for a creation the folder, for the whole store the topmost folder.
    public var identifier: ItemIdentifier
    /// The name that is given, for a creation, a copy or a move.
    public var filename: Filename?
    /// The folder to move or copy to.
    public var folder: ItemIdentifier?
    /// Which bytes are wanted, for a download.
    public var range: Range<Int64>?
    /// Which contents are wanted, for a download, a copy or a thumbnail.
    public var contentVersion: ContentVersion?
    /// What a change started from.
    public var baseVersion: ItemVersion?
    /// Where an enumeration goes on.
    public var page: Page?
    /// Where the changes that are asked for begin.
    public var anchor: SyncAnchor?

    /// A call with what is told of it; nil where the hook has no such thing.
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
