import ControlAPI
import DocumentServices
package import FileProvider
package import Foundation
import ItemCatalog
import Logging
import Surroundings
import SyncEngine
import Trees
package import Volume

/// The domain as its provider sees it: answers from the catalog and writes placeholders to the catalog.
package struct MountedDomain: FileProviderDomain {
    private let volume: Volume
    private let urls: DocumentURL
    /// Nil: the identifiers are lost with the catalog.
    private let identifiers: IdentifierBook?
    package let providerIdentifier: String
    package var documentStorageURL: URL { urls.root }
    package let documentGroupURL: URL?
    /// Seconds that writing a placeholder waits until no program changes its folder.
    private static let patience = 5.0

    /// - Parameter mountPoint: canonical.
    package init(volume: Volume, mountPoint: String, identifiers: IdentifierBook? = nil) {
        self.volume = volume
        self.identifiers = identifiers
        urls = DocumentURL(mountPoint: mountPoint)
        let client = volume.engine.client
        providerIdentifier = client.providerIdentifier
        documentGroupURL = Self.folder(ofGroup: client.documentGroup, logger: volume.engine.mount.logger)
    }

    /// The folder exists when this returns.
    private static func folder(ofGroup group: String?, logger: Logger) -> URL? {
        guard let group else { return nil }
        guard let path = BaseDirectory.group(group) else {
            logger.error("the provider's document group has no name for a folder", metadata: ["group": "\(group)"])
            return nil
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            logger.error("the provider's document group has no folder", metadata: ["error": "\(error)"])
            return nil
        }
        return URL(filePath: path, directoryHint: .isDirectory)
    }

    private var catalog: Catalog { volume.engine.mount.catalog }

    // MARK: URLs

    package func relativePath(of url: URL) throws(FileProviderError) -> [Filename] { try urls.names(of: url) }

    package func url(relativePath path: [Filename]) -> URL { urls.url(of: path) }

    package func placeholderURL(for url: URL) -> URL {
        (try? urls.names(of: url)).map { urls.url(of: $0) } ?? url
    }

    // MARK: Identifiers

    package func catalogIdentifierForItem(at url: URL) async throws(FileProviderError) -> ItemIdentifier {
        let item = try await item(at: url)
        let identifier = try translating { try catalog.read { try $0.persistentIdentifier(of: item.id) } }
        do { try identifiers?.note(identifier, at: urls.names(of: url), isFolder: item.kind.isFolder) } catch {
            // The identifier works as long as the catalog exists.
            volume.engine.mount.logger.warning("an identifier cannot be saved", metadata: ["error": "\(error)"])
        }
        return identifier
    }

    package func urlForItem(
        withCatalogIdentifier identifier: ItemIdentifier
    ) async throws(FileProviderError) -> URL {
        guard let place = identifiers?[identifier],
            try translating({ try catalog.read { try !$0.hasMade(identifier) } })
        else { return try self.place(identifier) { try $0.item(persistently: identifier) } }
        let heir = place.identifier
        if try translating({ try catalog.read { try $0.hasMade(heir) } }) {
            return try self.place(heir) { try $0.item(persistently: heir) }
        }
        // The identifier comes from an earlier catalog: the item is at its last noted place, or gone.
        let url = urls.url(of: place.path.names)
        let item = try await item(at: url)
        guard item.kind.isFolder == place.isFolder else {
            throw FileProviderError(.noSuchItem, "\(identifier): another item is in its place")
        }
        try translating {
            try identifiers?.adopt(place, as: try catalog.read { try $0.persistentIdentifier(of: item.id) })
        }
        return url
    }

    package func itemIdentifier(at url: URL) async throws(FileProviderError) -> ItemIdentifier {
        guard let identifier = try await item(at: url).identifier else {
            throw FileProviderError(.noSuchItem, "\(url.absoluteString): is not in the store yet")
        }
        return identifier
    }

    package func url(of identifier: ItemIdentifier) async throws(FileProviderError) -> URL {
        try place(identifier) { try $0.item(identifiedBy: identifier) }
    }

    private func place(
        _ identifier: ItemIdentifier, _ find: (Catalog.Reader) throws -> ItemRecord?
    ) throws(FileProviderError) -> URL {
        let names = try translating {
            try catalog.read { reader in
                try find(reader).flatMap { $0.local == nil ? nil : $0.inode }.flatMap { try reader.path(of: $0) }
            }
        }
        guard let names else { throw FileProviderError(.noSuchItem, "\(identifier): is not known here, or no longer") }
        return urls.url(of: names)
    }

    /// Lists folders on the path that nobody has listed yet.
    private func item(at url: URL) async throws(FileProviderError) -> ItemRecord {
        let names = try urls.names(of: url)
        while true {
            let folder: InodeID
            do {
                let item = try catalog.read { try $0.item(of: $0.resolve(names).id) }
                guard let item else {
                    throw FileProviderError(
                        .noSuchItem, "\(url.absoluteString): not an item of the store, but a file of this machine only")
                }
                return item
            } catch {
                guard let failure = error as? CatalogError, case .notEnumerated(let missing) = failure.code else {
                    throw Self.translate(error)
                }
                folder = missing
            }
            do { try await volume.engine.enumerate(folder) } catch { throw Self.translate(error) }
        }
    }

    // MARK: The store's state

    package func knownItem(_ identifier: ItemIdentifier) async throws(FileProviderError) -> KnownItem? {
        try translating { try catalog.read { try $0.knownItem(identifier) } }
    }

    package func knownItems(_ identifiers: [ItemIdentifier]) async throws(FileProviderError) -> [KnownItem] {
        try translating { try catalog.read { reader in try identifiers.compactMap { try reader.knownItem($0) } } }
    }

    package func knownItems(in folder: ItemIdentifier) async throws(FileProviderError) -> [KnownItem] {
        try translating { try catalog.read { try $0.knownItems(in: folder) } }
    }

    package func knownItem(
        named filename: Filename, in folder: ItemIdentifier
    ) async throws(FileProviderError) -> KnownItem? {
        try translating { try catalog.read { try $0.knownItem(named: filename, in: folder) } }
    }

    package func knownDocuments(having versions: Set<ContentVersion>) async throws(FileProviderError) -> [KnownItem] {
        try translating { try catalog.read { try $0.knownDocuments(having: versions) } }
    }

    // MARK: Placeholders

    package func writePlaceholder(
        at url: URL, withMetadata item: Item, thumbnail: Thumbnail?
    ) async throws(FileProviderError) {
        let names = try urls.names(of: url)
        guard let name = names.last, name == item.filename else {
            throw FileProviderError(
                .invalidName, "\(url.absoluteString): is not the place of an item named “\(item.filename)”")
        }
        // Do not list the folder for this: the provider may be about to report more items.
        let folder = try translating {
            do { return try catalog.read { try $0.resolve(names.dropLast()) } } catch {
                guard case .notEnumerated? = (error as? CatalogError)?.code else { throw error }
                throw FileProviderError(.noSuchItem, "\(url.absoluteString): its folder is not known here yet")
            }
        }
        try translating { try volume.engine.writePlaceholder(item, in: folder.id) }
        if let thumbnail {
            do { try volume.engine.thumbnails.put(thumbnail, of: item.identifier, item.version.content) } catch {
                // Only the placeholder matters; this failure does not.
                volume.engine.mount.logger.warning(
                    "a thumbnail cannot be kept", metadata: ["item": "\(item.filename)", "error": "\(error)"])
            }
        }
        guard await volume.isSeen(in: folder.id, within: Self.patience) else {
            throw FileProviderError(
                .busy, "\(url.absoluteString): is saved, but programs see it only after one of them releases the folder"
            )
        }
    }

    // MARK: Errors

    private func translating<T>(_ body: () throws -> T) throws(FileProviderError) -> T {
        do { return try body() } catch { throw Self.translate(error) }
    }

    private static func translate(_ error: any Error) -> FileProviderError {
        switch error {
        case let error as FileProviderError: return error
        case SyncError.provider(let error): return error
        case SyncError.catalog(let error): return translate(error)
        case let error as CatalogError:
            let code: FileProviderError.Code =
                switch error.code {
                case .notFound, .notFolder: .noSuchItem
                case .unsupported, .intoItself: .invalidName
                case .exists: .filenameCollision
                case .notPermitted: .busy
                default: .cannotSynchronize
                }
            return FileProviderError(code, error.message, cause: error)
        default: return FileProviderError(.cannotSynchronize, "\(error)", cause: error)
        }
    }
}
