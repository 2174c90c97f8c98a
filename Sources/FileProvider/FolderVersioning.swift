/// A provider that can say whether anything below a folder has changed, for less than a listing.
///
/// Without change signals, Hydrant lists the folders that programs look at now and then. With this protocol it asks for
/// the topmost folder's version instead, and lists nothing while the version stays the same.
///
/// Source: Nextcloud, whose folders' entity tags change with any change below them.
public protocol FolderVersioning: FileProviderExtension {
    /// A text that changes whenever an item below the folder changes, however deep. nil: this store (or this server)
    /// has no such version; Hydrant does not ask again until the next mount.
    ///
    /// - Throws: as ``FileProviderExtension/providePlaceholder(for:)``.
    func folderVersion(of folder: ItemIdentifier) async throws(FileProviderError) -> String?
}
