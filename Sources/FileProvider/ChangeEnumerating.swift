/// A moment in the history of a store; opaque to Hydrant, which keeps it over restarts.
///
/// Source: Apple, `NSFileProviderSyncAnchor`.
public struct SyncAnchor: Hashable, Sendable {
    /// At most 64 KiB.
    public let bytes: [UInt8]
    /// A moment, in whatever bytes the store has for it.
    public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
    /// A moment that the store names with text.
    public init(_ string: String) { self.bytes = Array(string.utf8) }
}

/// What changed in a store between two anchors, or the first part of it.
public struct ChangePage: Sendable {
    /// Items as they are now: new, changed, renamed or moved. In any order; one that changed twice need be here once.
    public var updated: [Item]
    /// Items that are gone. A folder's contents are gone with it.
    public var deleted: [ItemIdentifier]
    /// Where the next question starts. Hydrant keeps it once the page is in its catalog.
    public var anchor: SyncAnchor
    /// Whether there is more: asked for at once, from ``anchor`` on.
    public var hasMore: Bool

    /// What changed, up to `anchor`.
    public init(updated: [Item] = [], deleted: [ItemIdentifier] = [], anchor: SyncAnchor, hasMore: Bool = false) {
        self.updated = updated
        self.deleted = deleted
        self.anchor = anchor
        self.hasMore = hasMore
    }
}

/// A provider whose store can say what changed since a moment. Without it every folder that was looked at is listed
/// anew after a mount, and now and then.
///
/// Asked after each mount, at a ``ChangeSignal/everything``, and, where the provider is not ``ChangeSignaling``, every
/// half minute.
///
/// Source: Apple, `NSFileProviderEnumerator.enumerateChanges(for:from:)`.
public protocol ChangeEnumerating: FileProviderExtension {
    /// The store's present moment: changes from now on come after it.
    func currentSyncAnchor() async throws(FileProviderError) -> SyncAnchor

    /// What changed after `anchor`, whoever changed it. A change during the call is in this answer or in a later one.
    ///
    /// - Throws: ``FileProviderError/Code/syncAnchorExpired`` when the store does not remember so far back: then
    ///   Hydrant lists everything anew, from a new anchor on.
    func enumerateChanges(from anchor: SyncAnchor) async throws(FileProviderError) -> ChangePage
}
