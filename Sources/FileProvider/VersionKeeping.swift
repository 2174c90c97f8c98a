/// A version of a document that its store still has, although other contents have replaced it.
///
/// Source: Apple, `NSFileVersion`.
public struct DocumentVersion: Hashable, Sendable {
    /// The store's name for it, of 1 to ``longestIdentifier`` bytes; no other version of the document has it.
    public var identifier: String
    /// In bytes.
    public var size: Int64
    /// When the contents were written.
    public var contentModificationDate: FileTime
    /// The person who wrote them, for people; nil: not known.
    public var author: String?
    /// The name that a person gave the version; nil: none.
    public var label: String?

    /// A version as the store describes it.
    public init(
        identifier: String, size: Int64, contentModificationDate: FileTime, author: String? = nil, label: String? = nil
    ) {
        self.identifier = identifier
        self.size = size
        self.contentModificationDate = contentModificationDate
        self.author = author
        self.label = label
    }

    /// In bytes of UTF-8.
    public static let longestIdentifier = 1_024
    /// The most versions that a provider is asked for at once.
    public static let most = 1_000
}

/// A provider whose store keeps earlier versions of documents. `hydrant versions` lists them, copies them out, and
/// restores them: it writes the version's bytes into the document, as any program would, so that the store keeps the
/// contents that these bytes replace as a version too.
///
/// Source: Apple, `NSFileVersion.otherVersionsOfItem(at:)`.
public protocol VersionKeeping: FileProviderExtension {
    /// Whether this store keeps versions after all; one provider may serve stores that do and stores that do not. Must
    /// answer at once, from what is known. Default: true.
    var keepsVersions: Bool { get }

    /// The versions that the store keeps of a document, the newest first, without the present contents.
    ///
    /// - Parameter limit: the most versions to return: the newest ones. At most ``DocumentVersion/most``.
    /// - Throws: ``FileProviderError/Code/noSuchItem`` when the document is gone;
    ///   ``FileProviderError/Code/unsupported`` when the store keeps no versions.
    func versions(of identifier: ItemIdentifier, limit: Int) async throws(FileProviderError) -> [DocumentVersion]

    /// Sends all bytes of a version to `sink`, exactly ``DocumentVersion/size`` of them, from offset 0.
    ///
    /// - Parameter version: as ``versions(of:limit:)`` returned it, perhaps long ago.
    /// - Throws: ``FileProviderError/Code/noSuchItem`` when the document or the version is gone.
    func startProvidingVersion(
        _ version: DocumentVersion, of identifier: ItemIdentifier, into sink: any ContentSink
    ) async throws(FileProviderError)
}

extension VersionKeeping {
    /// The store keeps versions.
    public var keepsVersions: Bool { true }
}
