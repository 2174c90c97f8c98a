/// A moment in the history of a store; opaque to Hydrant, which keeps it across restarts.
///
/// Source: Apple, `NSFileProviderSyncAnchor`.
public struct SyncAnchor: Hashable, Sendable {
    /// At most 64 KiB.
    public let bytes: [UInt8]
    /// An anchor of any bytes.
    public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
    /// An anchor that is text.
    public init(_ string: String) { self.bytes = Array(string.utf8) }
}

/// What changed in a store between two anchors, or the first part of it.
public struct ChangePage: Sendable {
    /// Items as they are now: new, changed, renamed or moved. In any order; an item that changed twice need be here
    /// only once.
    public var updated: [Item]
    /// Items that are gone. A deleted folder stands for all that was in it.
    public var deleted: [ItemIdentifier]
    /// Where the next call starts. Hydrant keeps it once the page is in its catalog.
    public var anchor: SyncAnchor
    /// Whether there is more; Hydrant asks for it at once, from ``anchor`` on.
    public var hasMore: Bool

    /// The changes up to `anchor`.
    public init(updated: [Item] = [], deleted: [ItemIdentifier] = [], anchor: SyncAnchor, hasMore: Bool = false) {
        self.updated = updated
        self.deleted = deleted
        self.anchor = anchor
        self.hasMore = hasMore
    }
}

/// A provider whose store can list what changed since a moment. Without it Hydrant lists every folder that was looked
/// at anew after a mount, and now and then.
///
/// Hydrant asks after each mount, at a ``ChangeSignal/everything``, and, where the provider is not ``ChangeSignaling``,
/// every half minute.
///
/// Source: Apple, `NSFileProviderEnumerator.enumerateChanges(for:from:)`.
public protocol ChangeEnumerating: FileProviderExtension {
    /// The store's present moment: changes from now on come after it.
    func currentSyncAnchor() async throws(FileProviderError) -> SyncAnchor

    /// The changes after `anchor`, whoever made them. A change during the call is in this page or in a later one.
    ///
    /// - Throws: ``FileProviderError/Code/syncAnchorExpired`` when the store does not remember that far back: Hydrant
    ///   then lists everything anew, from a new anchor on.
    func enumerateChanges(from anchor: SyncAnchor) async throws(FileProviderError) -> ChangePage
}
