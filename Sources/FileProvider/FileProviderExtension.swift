/// A store of documents, as Hydrant sees it. Implement this, and any program can use the store through
/// a directory.
///
/// The four hooks of the iOS 8 document provider carry their names: ``providePlaceholder(for:)``,
/// ``startProvidingItem(_:version:range:into:)``, ``itemChanged(_:contents:metadata:baseVersion:)`` and
/// ``stopProvidingItem(_:)``. Around them stand what later became `NSFileProviderReplicatedExtension`:
/// enumeration, creation, move and deletion.
///
/// What Hydrant promises the provider: calls for one item come one after another except downloads, of
/// which several may run at once; calls for different items run concurrently; a call's task is
/// cancelled when nobody waits for it any more. What the provider promises: after a call returned
/// normally the store keeps the change even if this process is killed; after an error the store is as
/// it was, or as the change would have made it; a change whose base version does not match is refused
/// with ``FileProviderError/Code/versionMismatch`` and changes nothing.
///
/// Hydrant trusts no answer: names, sizes and identifiers are checked before they are used.
public protocol FileProviderExtension: Sendable {
    /// What the store says of one item now.
    ///
    /// - Throws: ``FileProviderError/Code/noSuchItem`` only when the store answered that it is gone.
    func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item

    /// One page of the items directly in a folder, in any order.
    ///
    /// Pages may come from a changing folder: an item that is there throughout must be on one of them.
    ///
    /// - Parameter page: nil for the first, else the ``ItemPage/nextPage`` of the one before.
    func enumerateItems(in folder: ItemIdentifier, startingAt page: Page?) async throws(FileProviderError)
        -> ItemPage

    /// Sends the bytes of a document to `sink`.
    ///
    /// - Parameters:
    ///   - version: the contents that are wanted. When the store has others by now, throw
    ///     ``FileProviderError/Code/versionMismatch``, also in mid-transfer: bytes of two versions must
    ///     never reach the sink in one call.
    ///   - range: in bytes, never empty, within the item's size. A store without ranges may read and
    ///     skip, but writes only bytes of the range to the sink, and all of them before it returns.
    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>,
        into sink: any ContentSink
    ) async throws(FileProviderError)

    /// A document was changed here: replace the store's contents, all or nothing.
    ///
    /// - Parameter baseVersion: the version the change started from. When the store's *contents* are at
    ///   another one, throw ``FileProviderError/Code/versionMismatch`` with the current item and change
    ///   nothing; a change of metadata alone is no mismatch.
    /// - Returns: the item as it is in the store now.
    func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata,
        baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item

    /// The last process let go of the document a while ago. The provider says whether its bytes stay.
    func stopProvidingItem(_ identifier: ItemIdentifier) async -> ContentDisposition

    /// Makes a new item.
    ///
    /// - Parameter contents: of a document; nil for a folder or a link.
    /// - Throws: ``FileProviderError/Code/filenameCollision`` with the item that has the name, and
    ///   changes nothing; ``FileProviderError/Code/noSuchItem`` when the folder is gone.
    func createItem(_ template: ItemTemplate, contents: (any ContentSource)?) async throws(FileProviderError)
        -> Item

    /// Gives an item another name, another folder, or both; what is in a folder goes with it.
    ///
    /// - Parameter baseVersion: the version the move started from. A store that can should refuse with
    ///   ``FileProviderError/Code/versionMismatch`` when the item has been moved meanwhile.
    /// - Throws: ``FileProviderError/Code/filenameCollision`` when the name is taken; never replaces.
    /// - Returns: the item as it is now; its identifier may be another one where identifiers are paths.
    func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename,
        baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item

    /// Deletes a document, a link, or an empty folder.
    ///
    /// - Throws: ``FileProviderError/Code/versionMismatch`` with the current item when a document's
    ///   contents are not at `baseVersion`; ``FileProviderError/Code/directoryNotEmpty`` for a folder
    ///   that is not empty; ``FileProviderError/Code/noSuchItem`` when it is gone already.
    func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(FileProviderError)
}

extension FileProviderExtension {
    /// Keep: a user who must download again what he just worked on is surprised.
    public func stopProvidingItem(_ identifier: ItemIdentifier) async -> ContentDisposition { .keep }
}

/// What a provider noticed in its store; Hydrant asks again for what is named.
public enum ChangeSignal: Hashable, Sendable {
    /// Items were added to, removed from, renamed or changed in this folder (not in its subfolders).
    case folder(ItemIdentifier)
    /// One item changed its contents or metadata.
    case item(ItemIdentifier)
    /// Too much happened to say what: everything that was looked at is asked for again, once.
    case everything
}

/// A provider that notices changes which others make in the store. Without it Hydrant asks again, every
/// now and then, for the folders that are being looked at.
///
/// Source: Apple, `NSFileProviderManager.signalEnumerator(for:)`.
public protocol ChangeSignaling: FileProviderExtension {
    /// The changes from now on, until the consuming task is cancelled. Called once a mount. A change
    /// made through this provider may or may not be signalled.
    func changeSignals() -> AsyncStream<ChangeSignal>
}

/// A provider whose store keeps modification times or permission bits that are set by themselves.
public protocol MetadataUpdating: FileProviderExtension {
    /// Sets an item's metadata; its contents stay.
    ///
    /// - Throws: ``FileProviderError/Code/versionMismatch`` when a document's contents are not at
    ///   `baseVersion`.
    /// - Returns: the item as it is now. Where the content version holds the modification date it is
    ///   another one, for the same contents.
    func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item
}

/// A provider that holds on to something (a connection, a watch) and lets go of it at unmount.
public protocol Invalidatable: FileProviderExtension {
    /// The domain is being unmounted: end what is running. No call follows.
    ///
    /// Source: Apple, `NSFileProviderReplicatedExtension.invalidate()`.
    func invalidate() async
}
