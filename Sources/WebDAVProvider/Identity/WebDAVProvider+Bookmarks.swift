package import FileProvider

package import struct Foundation.URL

/// Bookmarks. A number that the server keeps for an item (Nextcloud, ownCloud, servers with RFC 5842) names it on every
/// machine. A path does not, so there the catalog's identifier is used.
extension WebDAVProvider {
    package func persistentIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> ItemIdentifier {
        let identifier = try await storeIdentifierForItem(at: url, in: domain)
        if isTheServers(identifier) { return identifier }
        return try await domain.catalogIdentifierForItem(at: url)
    }

    package func urlForItem(
        withPersistentIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> URL {
        guard isTheServers(identifier) else { return try await domain.urlForItem(withCatalogIdentifier: identifier) }
        return try await urlForItem(withStoreIdentifier: identifier, in: domain)
    }

    /// Identifiers made by ``DAVResource``.
    private func isTheServers(_ identifier: ItemIdentifier) -> Bool {
        identifier == .rootContainer || ["f:", "r:"].contains { identifier.rawValue.hasPrefix($0) }
    }
}
