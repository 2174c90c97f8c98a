public import struct Foundation.URL

/// A store of documents. Implement this protocol, and any program can use the store as a directory.
///
/// The four hooks of the iOS 8 document provider carry their names: ``providePlaceholder(for:)``,
/// ``startProvidingItem(_:version:range:into:)``, ``itemChanged(_:contents:metadata:baseVersion:)`` and
/// ``stopProvidingItem(_:)``. Enumeration, creation, move and deletion follow `NSFileProviderReplicatedExtension`.
///
/// Hydrant promises the provider: calls for one item come one after another except downloads, of which several may run
/// at once; calls for different items run concurrently, but during ``moveItem(_:to:as:baseVersion:)`` of a folder no
/// call changes an item in it; Hydrant cancels a call's task when nobody waits for it any more. The provider promises:
/// after a call returned normally the store keeps the change even if this process is killed; after an error the store
/// is as it was, or as the change would have made it; the provider refuses a change whose base version does not match
/// with ``FileProviderError/Code/versionMismatch`` and changes nothing.
///
/// Hydrant checks names, sizes and identifiers in each answer before it uses them.
public protocol FileProviderExtension: Sendable {
    /// Names the provider, not the store: `org.example.notes`. A write coordinated under this identifier is the
    /// provider's own. Default: the name of the type, with its module.
    ///
    /// Source: Apple, `NSFileProviderExtension.providerIdentifier`.
    var providerIdentifier: String { get }

    /// Names a folder that this provider shares with its picker's extension (`group` of its manifest) and with other programs:
    /// ``FileProviderDomain/documentGroupURL``. A name like ``providerIdentifier``. Default: nil, none.
    var documentGroup: String? { get }

    /// Whether the store takes no changes at all and is mounted read-only. Asked once, at the mount. Default: false.
    /// Where only some items may not be changed, see ``Item/capabilities``.
    var isReadOnly: Bool { get }

    /// The domain is being mounted. Called once, before all other methods; a provider that wants to write placeholders
    /// by itself keeps `domain`. Default: does nothing.
    ///
    /// - Throws: why the domain cannot be served: it is then not mounted, and the user reads the message.
    func beginServing(_ domain: any FileProviderDomain) async throws(FileProviderError)

    /// An identifier that names the item for ever, for bookmarks. Default: one that the catalog keeps,
    /// ``FileProviderDomain/catalogIdentifierForItem(at:)``. A provider whose identifiers survive a rename answers with
    /// ``storeIdentifierForItem(at:in:)``, so that bookmarks are good on every machine.
    ///
    /// Also called for an item that is not in the store yet: a document gets its bookmark before it is uploaded.
    /// ``FileProviderDomain/itemIdentifier(at:)`` alone throws for such an item.
    ///
    /// Source: Apple, `NSFileProviderExtension.persistentIdentifierForItem(at:)`.
    func persistentIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> ItemIdentifier

    /// The inverse of ``persistentIdentifierForItem(at:in:)``, for every identifier that it ever returned: override
    /// both or none.
    ///
    /// - Throws: ``FileProviderError/Code/noSuchItem`` when the item is gone.
    func urlForItem(
        withPersistentIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> URL

    /// The store's current state of one item.
    ///
    /// - Throws: ``FileProviderError/Code/noSuchItem`` only when the store answered that the item is gone.
    func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item

    /// One page of the items directly in a folder, in any order.
    ///
    /// The folder may change between pages: an item that is in it throughout must be on one of them.
    ///
    /// - Parameter page: nil for the first page, else the ``ItemPage/nextPage`` of the page before.
    func enumerateItems(in folder: ItemIdentifier, startingAt page: Page?) async throws(FileProviderError)
        -> ItemPage

    /// Sends the bytes of a document to `sink`.
    ///
    /// - Parameters:
    ///   - version: the contents to send. When the store has others by now, throw
    ///     ``FileProviderError/Code/versionMismatch``, also in mid-transfer: bytes of two versions must never reach the
    ///     sink in one call.
    ///   - range: in bytes, never empty, within the item's size. For a store without ranges, read and skip, but write
    ///     only bytes of the range to the sink. Write all of them before you return.
    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>,
        into sink: any ContentSink
    ) async throws(FileProviderError)

    /// A document was changed here: replace the store's contents, all or nothing.
    ///
    /// - Parameter baseVersion: the version that the change started from. When the store's *contents* have another one,
    ///   throw ``FileProviderError/Code/versionMismatch`` with the current item and change nothing; a change of
    ///   metadata alone is no mismatch.
    /// - Returns: the item with these contents and their version. If other contents have replaced them by then, do not
    ///   return those: throw ``FileProviderError/Code/versionMismatch`` with the current item.
    func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata,
        baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item

    /// The last process closed the document a while ago. The provider decides whether its bytes stay.
    ///
    /// Also called when the disk is running out of room: documents to keep are then evicted only when nothing else is
    /// left, and no answer within two seconds counts as keep.
    func stopProvidingItem(_ identifier: ItemIdentifier) async -> ContentDisposition

    /// Makes a new item.
    ///
    /// - Parameter contents: the contents of a document; nil for a folder or a link.
    /// - Throws: ``FileProviderError/Code/filenameCollision`` with the item that has the name (change nothing then);
    ///   ``FileProviderError/Code/noSuchItem`` when the folder is gone.
    func createItem(_ template: ItemTemplate, contents: (any ContentSource)?) async throws(FileProviderError)
        -> Item

    /// Gives an item another name, another folder, or both; a folder keeps its contents.
    ///
    /// - Parameter baseVersion: the version that the move started from. If the store can check it, throw
    ///   ``FileProviderError/Code/versionMismatch`` when the item has been moved meanwhile.
    /// - Throws: ``FileProviderError/Code/filenameCollision`` when the name is taken; never replace that item.
    /// - Returns: the item as it is now; its identifier may be another one where identifiers are paths.
    func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename,
        baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item

    /// Deletes a document, a link, or an empty folder.
    ///
    /// - Throws: ``FileProviderError/Code/versionMismatch`` with the current item when a document's contents do not
    ///   have the version `baseVersion`; ``FileProviderError/Code/directoryNotEmpty`` for a folder that is not empty;
    ///   ``FileProviderError/Code/noSuchItem`` when the item is gone already.
    func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(FileProviderError)
}

extension FileProviderExtension {
    /// The name of the type, with its module.
    public var providerIdentifier: String { String(reflecting: Self.self) }

    /// No group.
    public var documentGroup: String? { nil }

    /// The store takes changes.
    public var isReadOnly: Bool { false }

    /// Does nothing.
    public func beginServing(_ domain: any FileProviderDomain) async throws(FileProviderError) {}

    /// The identifier that the catalog keeps.
    public func persistentIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> ItemIdentifier {
        try await domain.catalogIdentifierForItem(at: url)
    }

    /// The URL for the identifier that the catalog keeps.
    public func urlForItem(
        withPersistentIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> URL {
        try await domain.urlForItem(withCatalogIdentifier: identifier)
    }

    /// For a provider whose identifiers survive a rename: the item's own identifier, or the catalog's while the store
    /// has not given
    /// given it one. The inverse is ``urlForItem(withStoreIdentifier:in:)``.
    public func storeIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> ItemIdentifier {
        do { return try await domain.itemIdentifier(at: url) } catch {
            guard error.code == .noSuchItem else { throw error }
        }
        return try await domain.catalogIdentifierForItem(at: url)
    }

    /// The URL of the item that ``storeIdentifierForItem(at:in:)`` named: from the catalog, or else from the store.
    public func urlForItem(
        withStoreIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> URL {
        do { return try await domain.url(of: identifier) } catch {
            guard error.code == .noSuchItem else { throw error }
        }
        do { return try await domain.urlForItem(withCatalogIdentifier: identifier) } catch {
            guard error.code == .noSuchItem else { throw error }
        }
        // The catalog does not know the item: ask the store for its path.
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

    /// Keep: users do not expect to download again what they just worked on.
    public func stopProvidingItem(_ identifier: ItemIdentifier) async -> ContentDisposition { .keep }
}

/// A change that a provider noticed in its store; Hydrant asks again for the items it names.
public enum ChangeSignal: Hashable, Sendable {
    /// Items were added to, removed from, renamed or changed in this folder (not in its subfolders).
    case folder(ItemIdentifier)
    /// One item changed its contents or metadata.
    case item(ItemIdentifier)
    /// Too many changes to name: Hydrant asks once for everything that was looked at.
    case everything
}

/// A provider that notices changes made in the store. Without it Hydrant asks every now and then for the folders that
/// programs are looking at.
///
/// Source: Apple, `NSFileProviderManager.signalEnumerator(for:)`.
public protocol ChangeSignaling: FileProviderExtension {
    /// The changes from now on, until the consuming task is cancelled. Called once per mount. A change made through
    /// this provider may or may not be among them.
    func changeSignals() -> AsyncStream<ChangeSignal>
}

/// A provider whose signals come over a connection that the store may not offer, and that may break. While it is not up,
/// Hydrant polls as if the provider signalled nothing.
package protocol ConnectedSignaling: ChangeSignaling {
    /// Whether the connection is up, so that the changes of others are signalled. It may change at any time. Must answer
    /// at once.
    var isSignaling: Bool { get }

    /// An element for each time the connection has come up: it says nothing of what changed before. Called once per
    /// mount. Nil: the provider does not say.
    func signalOpenings() -> AsyncStream<Void>?
}

extension ConnectedSignaling {
    package func signalOpenings() -> AsyncStream<Void>? { nil }
}

/// A provider whose store can set modification times, permission bits or extended attributes without new contents.
public protocol MetadataUpdating: FileProviderExtension {
    /// Sets an item's metadata; its contents stay.
    ///
    /// - Throws: ``FileProviderError/Code/versionMismatch`` when a document's contents do not have the version
    ///   `baseVersion`.
    /// - Returns: the item as it is now, with the contents of `baseVersion` and, as for `itemChanged`, never others.
    ///   Where the content version includes the modification date, it is another version of the same contents.
    func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item
}

/// A provider that holds resources (a connection, a watch) and releases them at unmount.
public protocol Invalidatable: FileProviderExtension {
    /// The domain is being unmounted: end all running work. No call follows.
    ///
    /// Source: Apple, `NSFileProviderReplicatedExtension.invalidate()`.
    func invalidate() async
}
