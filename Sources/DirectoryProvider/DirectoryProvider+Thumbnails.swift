public import FileProvider

/// The provider makes no thumbnails; it keeps those that programs give, beside the documents (``KeptThumbnails``).
extension DirectoryProvider: ThumbnailKeeping {
    public func thumbnail(
        of identifier: ItemIdentifier, version: ContentVersion, size: Int
    ) async throws(FileProviderError) -> Thumbnail? {
        try await withEntry(identifier) { [store] entry throws(FileProviderError) in
            try entry.checkIsDocument(at: version)
            return try store.keptThumbnail(of: entry).map { Thumbnail(bytes: $0) }
        }
    }

    public func keepThumbnail(
        _ thumbnail: Thumbnail, of identifier: ItemIdentifier, version: ContentVersion
    ) async throws(FileProviderError) {
        guard !thumbnail.bytes.isEmpty, thumbnail.bytes.count <= Thumbnail.mostBytes else {
            throw FileProviderError(
                .unsupported,
                "a thumbnail has \(thumbnail.bytes.count) bytes, more than \(Thumbnail.mostBytes)")
        }
        try await withEntry(identifier) { [store] entry throws(FileProviderError) in
            try entry.checkIsDocument(at: version)
            try store.keepThumbnail(thumbnail.bytes, of: entry)
        }
    }
}
