import FileProvider
import Foundation
import ProcessProvider

/// The mounted domain, as a program in the provider protocol sees it.
struct PeerDomain: FileProviderDomain {
    let providerIdentifier: String
    let documentStorageURL: URL
    let documentGroupURL: URL?
    private let connection: Connection
    /// The request of Hydrant's whose domain this is; nil: the mounted one.
    private let request: UInt64?

    init(_ place: Message.BeginServing, _ provider: String, _ connection: Connection, request: UInt64?) {
        providerIdentifier = provider
        documentStorageURL = URL(string: place.documentStorageURL) ?? URL(filePath: "/")
        documentGroupURL = place.documentGroupURL.flatMap { URL(string: $0) }
        self.connection = connection
        self.request = request
    }

    func catalogIdentifierForItem(at url: URL) async throws(FileProviderError) -> ItemIdentifier {
        try await identifier(.catalogIdentifierForItem, url)
    }

    func itemIdentifier(at url: URL) async throws(FileProviderError) -> ItemIdentifier {
        try await identifier(.itemIdentifier, url)
    }

    private func identifier(_ method: Method, _ url: URL) async throws(FileProviderError) -> ItemIdentifier {
        let answer: Message.Identified = try await connection.call(
            method, Message.Located(url: url.absoluteString, request: request))
        return answer.identifier
    }

    func urlForItem(withCatalogIdentifier identifier: ItemIdentifier) async throws(FileProviderError) -> URL {
        try await url(.urlForItemWithCatalogIdentifier, identifier)
    }

    func url(of identifier: ItemIdentifier) async throws(FileProviderError) -> URL {
        try await url(.url, identifier)
    }

    private func url(_ method: Method, _ identifier: ItemIdentifier) async throws(FileProviderError) -> URL {
        let answer: Message.Located = try await connection.call(
            method, Message.Identified(identifier: identifier, request: request))
        guard let url = URL(string: answer.url) else { throw FileProviderError(.invalidName, answer.url) }
        return url
    }

    func knownItem(_ identifier: ItemIdentifier) async throws(FileProviderError) -> KnownItem? {
        let answer: Message.KnownItem = try await connection.call(
            .knownItem, Message.Identified(identifier: identifier, request: request))
        return answer.item?.value
    }

    func knownItems(_ identifiers: [ItemIdentifier]) async throws(FileProviderError) -> [KnownItem] {
        let answer: Message.KnownItemList = try await connection.call(
            .knownItems, Message.KnownItems(identifiers: identifiers, request: request))
        return answer.items.map(\.value)
    }

    func knownItems(in folder: ItemIdentifier) async throws(FileProviderError) -> [KnownItem] {
        let answer: Message.KnownItemList = try await connection.call(
            .knownItemsInFolder, Message.KnownItemsInFolder(folder: folder, request: request))
        return answer.items.map(\.value)
    }

    func knownItem(named filename: Filename, in folder: ItemIdentifier) async throws(FileProviderError) -> KnownItem? {
        let answer: Message.KnownItem = try await connection.call(
            .knownItemNamed,
            Message.KnownItemNamed(filename: ByteString(filename.bytes), folder: folder, request: request))
        return answer.item?.value
    }

    func knownDocuments(having versions: Set<ContentVersion>) async throws(FileProviderError) -> [KnownItem] {
        let answer: Message.KnownItemList = try await connection.call(
            .knownDocuments,
            Message.KnownDocuments(versions: versions.map { ByteString($0.bytes) }, request: request))
        return answer.items.map(\.value)
    }

    func writePlaceholder(
        at url: URL, withMetadata item: Item, thumbnail: Thumbnail?
    ) async throws(FileProviderError) {
        let _: Message.Nothing = try await connection.call(
            .writePlaceholder,
            Message.WritePlaceholder(
                url: url.absoluteString, item: WireItem(item), thumbnail: thumbnail.map { ByteString($0.bytes) },
                request: request))
    }

    // MARK: Paths

    func placeholderURL(for url: URL) -> URL { url }

    func relativePath(of url: URL) throws(FileProviderError) -> [Filename] {
        let (root, path) = (documentStorageURL.pathComponents, url.pathComponents)
        guard path.starts(with: root) else { throw FileProviderError(.invalidName, "\(url)") }
        return path.dropFirst(root.count).map { Filename($0) }
    }

    func url(relativePath path: [Filename]) -> URL {
        path.reduce(documentStorageURL) { $0.appending(component: $1.string, directoryHint: .notDirectory) }
    }
}
