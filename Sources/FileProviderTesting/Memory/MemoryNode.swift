import FileProvider

/// One item of a ``MemoryStore``.
struct MemoryNode: Sendable {
    /// Counts the items in the order of their creation.
    let number: Int
    var item: Item
    /// The contents of a document.
    var bytes: [UInt8] = []
    /// The picture that a test gave it; new contents remove it.
    var thumbnail: [UInt8]?

    /// The contents that others have replaced, the newest last.
    private(set) var past: [(version: DocumentVersion, bytes: [UInt8])] = []
    private static let mostPast = 100

    /// The revisions of the whole store at which each part last changed.
    private var content: Int
    private var place: Int
    private var metadata: Int

    init(number: Int, revision: Int, template: ItemTemplate, identifier: ItemIdentifier, bytes: [UInt8]) {
        self.number = number
        self.bytes = bytes
        (content, place, metadata) = (revision, revision, revision)
        item = Item(
            identifier: identifier, parentIdentifier: template.parentIdentifier, filename: template.filename,
            kind: template.kind, size: Int64(bytes.count),
            contentModificationDate: template.contentModificationDate,
            creationDate: template.contentModificationDate, posixPermissions: template.posixPermissions,
            version: ItemVersion(content: ContentVersion(""), metadata: MetadataVersion("")))
        item.extendedAttributes = Self.mayHaveAttributes(item.kind) ? template.extendedAttributes ?? [:] : nil
        updateVersion()
    }

    /// Keeps the present contents as a version.
    mutating func keepVersion() {
        let version = DocumentVersion(
            identifier: "content \(content)", size: item.size, contentModificationDate: item.contentModificationDate)
        past.append((version, bytes))
        if past.count > Self.mostPast { past.removeFirst() }
    }

    mutating func setBytes(_ bytes: [UInt8], revision: Int) {
        self.bytes = bytes
        thumbnail = nil
        item.size = Int64(bytes.count)
        content = revision
        updateVersion()
    }

    mutating func setMetadata(_ metadata: ItemMetadata, revision: Int) {
        item.contentModificationDate = metadata.contentModificationDate
        item.posixPermissions = metadata.posixPermissions ?? item.posixPermissions
        if Self.mayHaveAttributes(item.kind), let attributes = metadata.extendedAttributes {
            item.extendedAttributes = attributes
        }
        self.metadata = revision
        updateVersion()
    }

    mutating func setCapabilities(_ capabilities: ItemCapabilities, revision: Int) {
        item.capabilities = capabilities
        metadata = revision
        updateVersion()
    }

    mutating func setFavorite(_ isFavorite: Bool, revision: Int) {
        item.isFavorite = isFavorite
        metadata = revision
        updateVersion()
    }

    /// xattr(7): symbolic links have no attributes in `user.`.
    private static func mayHaveAttributes(_ kind: ItemKind) -> Bool { kind.isDocument || kind.isFolder }

    mutating func setPlace(_ folder: ItemIdentifier, _ filename: Filename, revision: Int) {
        item.parentIdentifier = folder
        item.filename = filename
        place = revision
        updateVersion()
    }

    /// Whether the item was renamed or moved after `version`; another change of metadata does not count.
    func hasMoved(since version: ItemVersion) -> Bool {
        !version.metadata.bytes.starts(with: placeMark.utf8)
    }

    private var placeMark: String { "place \(place)," }

    private mutating func updateVersion() {
        item.version = ItemVersion(
            content: ContentVersion("content \(content)"),
            metadata: MetadataVersion("\(placeMark) metadata \(metadata)"))
    }
}
