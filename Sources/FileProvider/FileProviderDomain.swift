public import struct Foundation.URL

/// The mounted domain, for its provider: where programs find the documents, and under which names.
///
/// Hydrant passes it to ``FileProviderExtension/beginServing(_:)``. URLs are file URLs below ``documentStorageURL``; a
/// name that is not UTF-8 is percent-encoded byte for byte. No method here touches the mount: a process that accesses a
/// mount that it serves itself waits for ever. Do not open these URLs in the provider, and make others with
/// ``url(relativePath:)``: `URL.appendingPathComponent` looks at the file.
///
/// Source: Apple, `NSFileProviderExtension` (iOS 8) and `NSFileProviderManager`.
public protocol FileProviderDomain: Sendable {
    /// As ``FileProviderExtension/providerIdentifier``.
    var providerIdentifier: String { get }

    /// The mount point: the root under which programs see the documents.
    var documentStorageURL: URL { get }

    /// The folder that this user's programs of ``FileProviderExtension/documentGroup`` share on this machine; nil: the
    /// provider names no group. The folder exists and is outside the mount: the provider may read and write it.
    ///
    /// Source: Apple, the app group's container of *App Extension Programming Guide*, "Document Provider".
    var documentGroupURL: URL? { get }

    // MARK: Identifiers

    /// An identifier that the catalog keeps for the item: it stays the same after renames and moves made here,
    /// eviction, restart and remount, whatever the store's identifiers do. It is unknown to another catalog of the same
    /// store. An item that is not in the store yet has one too, as has an item that stays on this machine, and a
    /// symbolic link has its own; pipes, sockets and devices have none.
    ///
    /// Hydrant lists folders of the path that nobody has looked at: do not wait for this method inside
    /// ``FileProviderExtension/enumerateItems(in:startingAt:)``.
    ///
    /// - Throws: ``FileProviderError/Code/noSuchItem`` when no item is there, ``FileProviderError/Code/invalidName``
    ///   when the URL is not below ``documentStorageURL``.
    func catalogIdentifierForItem(at url: URL) async throws(FileProviderError) -> ItemIdentifier

    /// Where the item is now.
    ///
    /// - Throws: ``FileProviderError/Code/noSuchItem`` when the catalog does not know the identifier (any more).
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

    // MARK: The store's items, as last reported

    /// An item as the store last reported it, without changes made here that the store has not taken yet. nil: nothing
    /// is known of it.
    ///
    /// With it, a provider can give items identifiers that are not paths even if its store names things by path.
    func knownItem(_ identifier: ItemIdentifier) async throws(FileProviderError) -> KnownItem?

    /// As ``knownItem(_:)``, of many; unknown items are left out.
    func knownItems(_ identifiers: [ItemIdentifier]) async throws(FileProviderError) -> [KnownItem]

    /// As ``knownItem(_:)``, of all items directly in a folder; none in a folder that nobody has looked at.
    func knownItems(in folder: ItemIdentifier) async throws(FileProviderError) -> [KnownItem]

    /// As ``knownItem(_:)``, of the item with this name in a folder.
    func knownItem(named filename: Filename, in folder: ItemIdentifier) async throws(FileProviderError) -> KnownItem?

    /// As ``knownItem(_:)``, of the documents with one of these contents, in any folder. Slow in a large domain.
    func knownDocuments(having versions: Set<ContentVersion>) async throws(FileProviderError) -> [KnownItem]

    // MARK: Placeholders

    /// The item's URL in the mount, made canonical (iOS 8 kept placeholders beside the documents; here the documents
    /// are the placeholders).
    func placeholderURL(for url: URL) -> URL

    /// Shows an item before an enumeration has brought it. When this returns, the item is in the catalog (it survives a
    /// killed process) and `stat` sees it.
    ///
    /// - Parameters:
    ///   - url: the URL of the item: its folder's URL and its name.
    ///   - item: as the store has it; the catalog must know its folder.
    ///   - thumbnail: kept for programs that ask for one of this version.
    /// - Throws: ``FileProviderError/Code/invalidName`` when URL and item do not agree or the item cannot be shown;
    ///   ``FileProviderError/Code/noSuchItem`` when the catalog does not know the folder;
    ///   ``FileProviderError/Code/filenameCollision`` when another item has the name here;
    ///   ``FileProviderError/Code/busy`` while the item has a change, a move or a deletion that the store has not
    ///   confirmed. In these cases nothing was written. Also ``FileProviderError/Code/busy``, with the placeholder
    ///   written, when a program keeps the folder in use for 5 seconds.
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

/// An item of the store, as the catalog knows it.
public struct KnownItem: Hashable, Sendable {
    /// The persistent name of the item.
    public var identifier: ItemIdentifier
    /// The folder that contains the item.
    public var parentIdentifier: ItemIdentifier
    /// The name in its folder.
    public var filename: Filename
    /// Whether it is a folder.
    public var isFolder: Bool
    /// In bytes; 0 unless it is a document.
    public var size: Int64
    /// The version of its contents.
    public var contentVersion: ContentVersion
    /// The version of its name, place, dates and so on.
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
    /// There is no group.
    public var documentGroupURL: URL? { nil }
}
