public import FileProvider

public import struct Foundation.URL

/// Bookmarks. An inode with its birth time (``Identity``) names the document on every machine that mounts the same
/// directory; where identifiers are paths, or have a device number that changes with the next boot, the catalog's
/// identifier is used.
extension DirectoryProvider {
    public func persistentIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> ItemIdentifier {
        let identifier = try await storeIdentifierForItem(at: url, in: domain)
        if Identity.isForEver(identifier) { return identifier }
        return try await domain.catalogIdentifierForItem(at: url)
    }

    public func urlForItem(
        withPersistentIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> URL {
        guard Identity.isForEver(identifier) else {
            return try await domain.urlForItem(withCatalogIdentifier: identifier)
        }
        return try await urlForItem(withStoreIdentifier: identifier, in: domain)
    }
}

extension DirectoryProvider: QuotaReporting {
    /// For the file system of the directory (statvfs(3)); blocks reserved for root count as used.
    public func quota() async throws(FileProviderError) -> StoreQuota {
        try await blocking { [store] () throws(FileProviderError) in
            try store.checkRoot()
            return try store.quota()
        }
    }
}
