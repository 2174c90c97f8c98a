/// A store that takes no changes: its provider only lists and downloads. It is mounted read-only; programs that try to
/// write get EROFS.
public protocol ReadOnlyFileProvider: FileProviderExtension {}

extension ReadOnlyFileProvider {
    /// The store is mounted read-only.
    public var isReadOnly: Bool { true }

    /// Refuses, with ``FileProviderError/Code/readOnly``.
    public func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item { throw takesNoChanges }

    /// Refuses, with ``FileProviderError/Code/readOnly``.
    public func createItem(
        _ template: ItemTemplate, contents: (any ContentSource)?
    ) async throws(FileProviderError) -> Item { throw takesNoChanges }

    /// Refuses, with ``FileProviderError/Code/readOnly``.
    public func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item { throw takesNoChanges }

    /// Refuses, with ``FileProviderError/Code/readOnly``.
    public func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(FileProviderError) {
        throw takesNoChanges
    }

    private var takesNoChanges: FileProviderError { FileProviderError(.readOnly, "the store takes no changes") }
}
