public import FileProvider

public import struct Foundation.URL

/// Bookmarks. An inode with its birth time (``Identity``) names the document on every machine that mounts the same
/// directory; where identifiers are paths, or hold a device number that the next boot changes, the catalog's does.
extension DirectoryProvider {
    public func persistentIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> ItemIdentifier {
        let identifier: ItemIdentifier
        do { identifier = try await domain.itemIdentifier(at: url) } catch {
            // It may be there, and just not sent yet.
            guard error.code == .noSuchItem else { throw error }
            return try await domain.catalogIdentifierForItem(at: url)
        }
        if Identity.isForEver(identifier) { return identifier }
        return try await domain.catalogIdentifierForItem(at: url)
    }

    public func urlForItem(
        withPersistentIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> URL {
        guard Identity.isForEver(identifier) else {
            return try await domain.urlForItem(withCatalogIdentifier: identifier)
        }
        do { return try await domain.url(of: identifier) } catch {
            guard error.code == .noSuchItem else { throw error }
        }
        // Not looked at here yet: the store knows where it is.
        var names: [Filename] = []
        var next = identifier
        while next != .rootContainer {
            let item = try await providePlaceholder(for: next)
            names.append(item.filename)
            next = item.parentIdentifier
        }
        return domain.url(relativePath: names.reversed())
    }
}

extension DirectoryProvider: QuotaReporting {
    /// Of the file system that the directory is on (statvfs(3)); what is set aside for root counts as used.
    public func quota() async throws(FileProviderError) -> StoreQuota {
        try await blocking { [store] () throws(FileProviderError) in
            try store.checkRoot()
            return try store.quota()
        }
    }
}
