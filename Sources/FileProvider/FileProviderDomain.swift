public import struct Foundation.URL

/// The mounted domain, as its provider sees it: where programs find the documents, and by which names.
///
/// Given to the provider by ``FileProviderExtension/beginServing(_:)``. URLs are file URLs below
/// ``documentStorageURL``; a name that is not UTF-8 is percent-encoded byte for byte. Nothing here touches the mount: a
/// process that waits for a mount that it serves itself waits for ever. Do not open these URLs in the provider, and make
/// others with ``url(relativePath:)``: `URL.appendingPathComponent` looks at the file.
///
/// Source: Apple, `NSFileProviderExtension` (iOS 8) and `NSFileProviderManager`.
public protocol FileProviderDomain: Sendable {
    /// The provider's own; as ``FileProviderExtension/providerIdentifier``.
    var providerIdentifier: String { get }

    /// The mount point: the root under which programs see the documents.
    var documentStorageURL: URL { get }

    /// The folder that the programs of ``FileProviderExtension/documentGroup`` share, of this user, on this machine; nil: the
    /// provider names no group. It is there, and is no part of the mount: it may be read and written.
    ///
    /// Source: Apple, the app group's container of *App Extension Programming Guide*, "Document Provider".
    var documentGroupURL: URL? { get }

    // MARK: Identifiers

    /// An identifier that the catalog keeps for the item: the same after renames and moves made here, after eviction,
    /// restart and remount, whatever the store's own identifiers do. It says nothing to another catalog of the same store.
    /// What is not in the store yet has one too, and so has what stays on this machine; a symbolic link has its own; pipes,
    /// sockets and devices have none.
    ///
    /// Folders on the way that nobody has looked at are listed: do not wait for this inside of
    /// ``FileProviderExtension/enumerateItems(in:startingAt:)``.
    ///
    /// - Throws: ``FileProviderError/Code/noSuchItem`` when nothing is there, ``FileProviderError/Code/invalidName`` when
    ///   the URL is not below ``documentStorageURL``.
    func catalogIdentifierForItem(at url: URL) async throws(FileProviderError) -> ItemIdentifier

    /// Where the item is now.
    ///
    /// - Throws: ``FileProviderError/Code/noSuchItem`` when the catalog does not know it (any more).
    func urlForItem(withCatalogIdentifier identifier: ItemIdentifier) async throws(FileProviderError) -> URL

    /// The identifier that the provider gave the item.
    ///
    /// - Throws: as ``catalogIdentifierForItem(at:)``; ``FileProviderError/Code/noSuchItem`` also for an item that the
    ///   provider has not confirmed yet.
    func itemIdentifier(at url: URL) async throws(FileProviderError) -> ItemIdentifier

    /// Where the item with the provider's identifier is now, as far as the catalog knows.
    func url(of identifier: ItemIdentifier) async throws(FileProviderError) -> URL

    /// The path below ``documentStorageURL``: iOS 8's default for a persistent identifier, which breaks on rename.
    func relativePath(of url: URL) throws(FileProviderError) -> [Filename]

    /// The inverse of ``relativePath(of:)``; the item need not exist.
    func url(relativePath path: [Filename]) -> URL

    // MARK: What is known of the store

    /// What the store said of an item when it was last asked; changes made here that it has not taken yet do not show.
    /// nil: nothing is known of it.
    ///
    /// For a store whose own names for things are paths: with this, identifiers need not be.
    func knownItem(_ identifier: ItemIdentifier) async throws(FileProviderError) -> KnownItem?

    /// As ``knownItem(_:)``, of many; those of which nothing is known are left out.
    func knownItems(_ identifiers: [ItemIdentifier]) async throws(FileProviderError) -> [KnownItem]

    /// As ``knownItem(_:)``, of all that is directly in a folder; none where nobody has looked.
    func knownItems(in folder: ItemIdentifier) async throws(FileProviderError) -> [KnownItem]

    /// As ``knownItem(_:)``, of what has this name in a folder.
    func knownItem(named filename: Filename, in folder: ItemIdentifier) async throws(FileProviderError) -> KnownItem?

    /// As ``knownItem(_:)``, of the documents with one of these contents, wherever they are. Takes a while in a large domain.
    func knownDocuments(having versions: Set<ContentVersion>) async throws(FileProviderError) -> [KnownItem]

    // MARK: Placeholders

    /// Where an item's placeholder is: the item's URL in the mount, made canonical (iOS 8 kept placeholders beside the
    /// documents; here they are the documents).
    func placeholderURL(for url: URL) -> URL

    /// Shows an item before any enumeration has brought it. When this returns, the item is in the catalog (it survives
    /// a killed process) and `stat` sees it.
    ///
    /// - Parameters:
    ///   - url: the item's place: below its folder's URL, with the item's name.
    ///   - item: as the store has it; the folder it is in must be known here.
    ///   - thumbnail: kept for whoever asks for one of this version.
    /// - Throws: ``FileProviderError/Code/invalidName`` when URL and item do not agree or the item cannot be shown;
    ///   ``FileProviderError/Code/noSuchItem`` when the folder is not known; ``FileProviderError/Code/filenameCollision``
    ///   when something else has the name here; ``FileProviderError/Code/busy`` while the item is being changed from here,
    ///   or was moved or deleted here and the store does not know it yet. Then nothing was written. Also
    ///   ``FileProviderError/Code/busy``, with the placeholder written, when a program keeps the folder in use for 5 seconds.
    func writePlaceholder(
        at url: URL, withMetadata item: Item, thumbnail: Thumbnail?
    ) async throws(FileProviderError)
}

extension FileProviderDomain {
    /// As ``writePlaceholder(at:withMetadata:thumbnail:)``, without a thumbnail.
    public func writePlaceholder(at url: URL, withMetadata item: Item) async throws(FileProviderError) {
        try await writePlaceholder(at: url, withMetadata: item, thumbnail: nil)
    }
}

/// What is known of an item in the store, without asking the store.
public struct KnownItem: Hashable, Sendable {
    /// By which the item is known for ever.
    public var identifier: ItemIdentifier
    /// The folder it is in.
    public var parentIdentifier: ItemIdentifier
    /// What it is called in its folder.
    public var filename: Filename
    /// Whether it is a folder.
    public var isFolder: Bool
    /// In bytes; of what is no document, 0.
    public var size: Int64
    /// Which contents it has.
    public var contentVersion: ContentVersion
    /// Which name, place, dates and so on it has.
    public var metadataVersion: MetadataVersion

    /// See the properties.
    public init(
        identifier: ItemIdentifier, parentIdentifier: ItemIdentifier, filename: Filename, isFolder: Bool, size: Int64,
        contentVersion: ContentVersion, metadataVersion: MetadataVersion = MetadataVersion("")
    ) {
        self.identifier = identifier
        self.parentIdentifier = parentIdentifier
        self.filename = filename
        self.isFolder = isFolder
        self.size = size
        self.contentVersion = contentVersion
        self.metadataVersion = metadataVersion
    }
}

extension FileProviderDomain {
    /// None.
    public var documentGroupURL: URL? { nil }
}
