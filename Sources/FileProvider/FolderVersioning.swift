/// A provider that can say whether anything below a folder has changed, for less than a listing.
///
/// Where a store tells nobody of its changes, the folders that programs look at are listed now and then. With this, the
/// topmost folder's version is asked for instead, and nothing is listed while it stays the same.
///
/// Source: Nextcloud, whose folders' entity tags change with anything below them.
public protocol FolderVersioning: FileProviderExtension {
    /// Some text that is another one whenever something below the folder, however deep, has changed since. nil: this store
    /// (or this server) has no such thing; it is not asked again until the next mount.
    ///
    /// - Throws: as ``FileProviderExtension/providePlaceholder(for:)``.
    func folderVersion(of folder: ItemIdentifier) async throws(FileProviderError) -> String?
}
