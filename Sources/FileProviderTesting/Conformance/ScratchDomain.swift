import FileProvider
import Foundation
import Synchronization

/// The domain in which the suite checks a provider: there is no mount, only the URLs that items would have.
///
/// It knows the items that a rule has registered.
final class ScratchDomain: FileProviderDomain {
    private struct State {
        /// The path of each known item from the topmost folder on.
        var paths: [ItemIdentifier: [Filename]] = [.rootContainer: []]
        /// The catalog's identifier of each item.
        var catalog: [ItemIdentifier: ItemIdentifier] = [.rootContainer: ItemIdentifier("catalog-0")]
        /// Items that are not in the store yet: path by the catalog's identifier.
        var unsent: [ItemIdentifier: [Filename]] = [:]
        var count = 0

        mutating func newCatalogIdentifier() -> ItemIdentifier {
            count += 1
            return ItemIdentifier("catalog-\(count)")
        }
    }
    private let state = Mutex(State())

    let providerIdentifier: String
    let documentStorageURL = URL(filePath: "/hydrant-conformance/documents", directoryHint: .isDirectory)

    init(of provider: any FileProviderExtension) { providerIdentifier = provider.providerIdentifier }

    // MARK: The catalog's part

    /// Registers an item, and the folders above it.
    func learn(_ item: Item, from provider: any FileProviderExtension) async throws(FileProviderError) {
        var path = [item.filename]
        var parent = item.parentIdentifier
        while parent != .rootContainer, path.count < 100 {
            let folder = try await provider.providePlaceholder(for: parent)
            path.insert(folder.filename, at: 0)
            parent = folder.parentIdentifier
        }
        state.withLock { state in
            state.paths[item.identifier] = path
            if let sent = state.unsent.first(where: { $0.value == path })?.key {
                state.unsent[sent] = nil
                state.catalog[item.identifier] = sent
            } else if state.catalog[item.identifier] == nil {
                state.catalog[item.identifier] = state.newCatalogIdentifier()
            }
        }
    }

    /// Registers an item that a program made beside a known item and that is not in the store yet; call `learn` once it
    /// is uploaded.
    ///
    /// - Returns: its URL.
    func learn(unsent name: Filename, beside item: Item) async throws(FileProviderError) -> URL {
        let path = Array(try relativePath(of: try await url(of: item.identifier)).dropLast()) + [name]
        state.withLock { $0.unsent[$0.newCatalogIdentifier()] = path }
        return url(relativePath: path)
    }

    /// Registers a move made here; where identifiers are paths, the item has a new one.
    func learn(_ item: Item, insteadOf old: Item, from provider: any FileProviderExtension)
        async throws(FileProviderError)
    {
        state.withLock { state in
            state.catalog[item.identifier] = state.catalog.removeValue(forKey: old.identifier)
            state.paths[old.identifier] = nil
        }
        try await learn(item, from: provider)
    }

    func forget(_ item: Item) {
        state.withLock { state in
            state.catalog[item.identifier] = nil
            state.paths[item.identifier] = nil
        }
    }

    // MARK: Identifiers

    func catalogIdentifierForItem(at url: URL) async throws(FileProviderError) -> ItemIdentifier {
        let path = try relativePath(of: url)
        if let unsent = state.withLock({ $0.unsent.first { $0.value == path }?.key }) { return unsent }
        let identifier = try known(at: url)
        guard let found = state.withLock({ $0.catalog[identifier] }) else { throw Self.unknown(url.path) }
        return found
    }

    func urlForItem(withCatalogIdentifier identifier: ItemIdentifier) async throws(FileProviderError) -> URL {
        if let path = state.withLock({ $0.unsent[identifier] }) { return url(relativePath: path) }
        guard let item = state.withLock({ $0.catalog.first { $0.value == identifier }?.key }) else {
            throw Self.unknown(identifier.rawValue)
        }
        return try await url(of: item)
    }

    func itemIdentifier(at url: URL) async throws(FileProviderError) -> ItemIdentifier { try known(at: url) }

    func url(of identifier: ItemIdentifier) async throws(FileProviderError) -> URL {
        guard let path = state.withLock({ $0.paths[identifier] }) else { throw Self.unknown(identifier.rawValue) }
        return url(relativePath: path)
    }

    private func known(at url: URL) throws(FileProviderError) -> ItemIdentifier {
        let path = try relativePath(of: url)
        guard let identifier = state.withLock({ $0.paths.first { $0.value == path }?.key }) else {
            throw Self.unknown(url.path)
        }
        return identifier
    }

    private static func unknown(_ what: String) -> FileProviderError {
        FileProviderError(.noSuchItem, "“\(what)”: unknown here")
    }

    // MARK: Items of the store are not kept

    func knownItem(_ identifier: ItemIdentifier) async throws(FileProviderError) -> KnownItem? { nil }
    func knownItems(_ identifiers: [ItemIdentifier]) async throws(FileProviderError) -> [KnownItem] { [] }
    func knownItems(in folder: ItemIdentifier) async throws(FileProviderError) -> [KnownItem] { [] }
    func knownItem(named: Filename, in folder: ItemIdentifier) async throws(FileProviderError) -> KnownItem? { nil }
    func knownDocuments(having versions: Set<ContentVersion>) async throws(FileProviderError) -> [KnownItem] { [] }

    // MARK: Paths

    func relativePath(of url: URL) throws(FileProviderError) -> [Filename] {
        let (root, path) = (documentStorageURL.pathComponents, url.pathComponents)
        guard url.isFileURL, path.starts(with: root) else {
            throw FileProviderError(.invalidName, "\(url): not below \(documentStorageURL)")
        }
        return path.dropFirst(root.count).map { Filename($0) }
    }

    func url(relativePath path: [Filename]) -> URL {
        path.reduce(documentStorageURL) { $0.appending(component: $1.string, directoryHint: .notDirectory) }
    }

    // MARK: Placeholders are not shown

    func placeholderURL(for url: URL) -> URL { url }

    func writePlaceholder(
        at url: URL, withMetadata item: Item, thumbnail: Thumbnail?
    ) async throws(FileProviderError) {}
}
