import FileProvider
import FileProviderTesting

/// A store in memory that can do what every store must, and nothing else: no signals, no metadata by
/// themselves, no extended attributes.
struct PlainProvider: FileProviderExtension {
    typealias Failure = FileProviderError

    private let base = InMemoryProvider()

    func providePlaceholder(for identifier: ItemIdentifier) async throws(Failure) -> Item {
        try await plain { () async throws(Failure) in try await base.providePlaceholder(for: identifier) }
    }

    func enumerateItems(in folder: ItemIdentifier, startingAt page: Page?) async throws(Failure) -> ItemPage {
        let result = try await base.enumerateItems(in: folder, startingAt: page)
        return ItemPage(items: result.items.map(Self.plain), nextPage: result.nextPage)
    }

    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(Failure) {
        try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
    }

    func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata,
        baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        try await plain { () async throws(Failure) in
            try await base.itemChanged(
                identifier, contents: contents, metadata: metadata, baseVersion: baseVersion)
        }
    }

    func createItem(_ template: ItemTemplate, contents: (any ContentSource)?) async throws(Failure) -> Item {
        try await plain { () async throws(Failure) in
            try await base.createItem(template, contents: contents)
        }
    }

    func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        try await plain { () async throws(Failure) in
            try await base.moveItem(identifier, to: folder, as: filename, baseVersion: baseVersion)
        }
    }

    func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(Failure) {
        do throws(Failure) { try await base.deleteItem(identifier, baseVersion: baseVersion) } catch {
            throw Self.plain(error)
        }
    }

    private func plain(_ body: () async throws(Failure) -> Item) async throws(Failure) -> Item {
        do throws(Failure) { return Self.plain(try await body()) } catch { throw Self.plain(error) }
    }

    private static func plain(_ item: Item) -> Item {
        var item = item
        item.extendedAttributes = nil
        return item
    }

    private static func plain(_ error: Failure) -> Failure {
        var error = error
        error.item = error.item.map(plain)
        return error
    }
}
