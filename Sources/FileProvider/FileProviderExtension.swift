public import struct Foundation.URL

/// A store of documents, as Hydrant sees it. Implement this, and any program can use the store through
/// a directory.
///
/// The four hooks of the iOS 8 document provider carry their names: ``providePlaceholder(for:)``,
/// ``startProvidingItem(_:version:range:into:)``, ``itemChanged(_:contents:metadata:baseVersion:)`` and
/// ``stopProvidingItem(_:)``. Around them stand what later became `NSFileProviderReplicatedExtension`:
/// enumeration, creation, move and deletion.
///
/// What Hydrant promises the provider: calls for one item come one after another except downloads, of
/// which several may run at once; calls for different items run concurrently, but no change of what is
/// in a folder beside ``moveItem(_:to:as:baseVersion:)`` of that folder; a call's task is
/// cancelled when nobody waits for it any more. What the provider promises: after a call returned
/// normally the store keeps the change even if this process is killed; after an error the store is as
/// it was, or as the change would have made it; a change whose base version does not match is refused
/// with ``FileProviderError/Code/versionMismatch`` and changes nothing.
///
/// Hydrant trusts no answer: names, sizes and identifiers are checked before they are used.
public protocol FileProviderExtension: Sendable {
    /// Names the provider, not the store: `org.example.notes`. A write that is coordinated under it is the provider's own.
    /// Default: the name of the type, with its module.
    ///
    /// Source: Apple, `NSFileProviderExtension.providerIdentifier`.
    var providerIdentifier: String { get }

    /// Names a folder that this provider shares with its picker's extension (`group` of its manifest) and with other programs:
    /// ``FileProviderDomain/documentGroupURL``. A name like ``providerIdentifier``. Default: nil, none.
    var documentGroup: String? { get }

    /// Whether the store takes no changes at all; then it is mounted read-only. Asked once, at the mount. Default: false.
    /// Where only some items may not be changed, see ``Item/capabilities``.
    var isReadOnly: Bool { get }

    /// The domain is being mounted. Called once, before all else; a provider that wants to write placeholders by
    /// itself keeps `domain`. Default: nothing.
    ///
    /// - Throws: why it cannot be served: then it is not mounted, and the user is told the message.
    func beginServing(_ domain: any FileProviderDomain) async throws(FileProviderError)

    /// An identifier that names the item for ever: what bookmarks hold. Default: one that the catalog keeps,
    /// ``FileProviderDomain/catalogIdentifierForItem(at:)``. A provider whose identifiers survive a rename answers with
    /// ``storeIdentifierForItem(at:in:)``, so that they are good on every machine.
    ///
    /// Asked for what is not in the store yet as well: a document that was just moved there gets its bookmark before it is
    /// uploaded. ``FileProviderDomain/itemIdentifier(at:)`` alone throws for that.
    ///
    /// Source: Apple, `NSFileProviderExtension.persistentIdentifierForItem(at:)`.
    func persistentIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> ItemIdentifier

    /// The inverse of ``persistentIdentifierForItem(at:in:)``, for every identifier that it ever gave: override both or none.
    ///
    /// - Throws: ``FileProviderError/Code/noSuchItem`` when it is gone.
    func urlForItem(
        withPersistentIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> URL

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
    /// - Returns: the item with these contents, at the version that they have. If others have replaced them by then,
    ///   never theirs: throw ``FileProviderError/Code/versionMismatch`` with the current item.
    func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata,
        baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item

    /// The last process let go of the document a while ago. The provider says whether its bytes stay.
    ///
    /// Asked as well when room is needed on the disk: then what is to be kept goes when nothing else is left, and
    /// no answer within two seconds counts as keep.
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
    /// The name of the type, with its module.
    public var providerIdentifier: String { String(reflecting: Self.self) }

    /// There is none.
    public var documentGroup: String? { nil }

    /// The store takes changes.
    public var isReadOnly: Bool { false }

    /// Nothing is to be done.
    public func beginServing(_ domain: any FileProviderDomain) async throws(FileProviderError) {}

    /// The one that the catalog keeps.
    public func persistentIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> ItemIdentifier {
        try await domain.catalogIdentifierForItem(at: url)
    }

    /// Of the identifier that the catalog keeps.
    public func urlForItem(
        withPersistentIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> URL {
        try await domain.urlForItem(withCatalogIdentifier: identifier)
    }

    /// For a provider whose identifiers survive a rename: the item's own identifier, or the catalog's while the store has not
    /// given it one. The inverse is ``urlForItem(withStoreIdentifier:in:)``.
    public func storeIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> ItemIdentifier {
        do { return try await domain.itemIdentifier(at: url) } catch {
            guard error.code == .noSuchItem else { throw error }
        }
        return try await domain.catalogIdentifierForItem(at: url)
    }

    /// Where the item is that ``storeIdentifierForItem(at:in:)`` named: as the catalog knows, or else as the store says.
    public func urlForItem(
        withStoreIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> URL {
        do { return try await domain.url(of: identifier) } catch {
            guard error.code == .noSuchItem else { throw error }
        }
        do { return try await domain.urlForItem(withCatalogIdentifier: identifier) } catch {
            guard error.code == .noSuchItem else { throw error }
        }
        // Nobody has looked at it here yet.
        var names: [Filename] = []
        var next = identifier
        while next != .rootContainer {
            guard names.count < 1_000 else {
                throw FileProviderError(.cannotSynchronize, "\(identifier): lies in more than 1,000 folders")
            }
            let item = try await providePlaceholder(for: next)
            names.append(item.filename)
            next = item.parentIdentifier
        }
        return domain.url(relativePath: names.reversed())
    }

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

/// A provider whose store keeps modification times, permission bits or extended attributes that are set by
/// themselves.
public protocol MetadataUpdating: FileProviderExtension {
    /// Sets an item's metadata; its contents stay.
    ///
    /// - Throws: ``FileProviderError/Code/versionMismatch`` when a document's contents are not at
    ///   `baseVersion`.
    /// - Returns: the item as it is now, with the contents of `baseVersion`: as for `itemChanged`, never others. Where the
    ///   content version holds the modification date it is another one, for the same contents.
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
