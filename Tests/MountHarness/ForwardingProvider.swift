package import FileProvider
package import FileProviderTesting

/// A store in memory with one more property that a test needs: conforming types add just that.
package protocol ForwardingProvider: FileProviderExtension {
    var base: InMemoryProvider { get }
}

extension ForwardingProvider {
    package func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        try await base.providePlaceholder(for: identifier)
    }

    package func enumerateItems(
        in folder: ItemIdentifier, startingAt page: Page?
    ) async throws(FileProviderError) -> ItemPage {
        try await base.enumerateItems(in: folder, startingAt: page)
    }

    package func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
    }

    package func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await base.itemChanged(identifier, contents: contents, metadata: metadata, baseVersion: baseVersion)
    }

    package func createItem(
        _ template: ItemTemplate, contents: (any ContentSource)?
    ) async throws(FileProviderError) -> Item {
        try await base.createItem(template, contents: contents)
    }

    package func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await base.moveItem(identifier, to: folder, as: filename, baseVersion: baseVersion)
    }

    package func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(FileProviderError) {
        try await base.deleteItem(identifier, baseVersion: baseVersion)
    }
}
