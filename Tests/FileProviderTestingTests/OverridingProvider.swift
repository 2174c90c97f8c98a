import FileProvider
import FileProviderTesting

/// A store in memory of which a test replaces single hooks by worse ones.
struct OverridingProvider: FileProviderExtension {
    typealias Failure = FileProviderError

    let base = InMemoryProvider(pageSize: 4, pieceSize: 1000)

    var placeholder: (@Sendable (InMemoryProvider, ItemIdentifier) async throws(Failure) -> Item)?
    var enumerate: (@Sendable (InMemoryProvider, ItemIdentifier, Page?) async throws(Failure) -> ItemPage)?
    var download:
        (
            @Sendable (InMemoryProvider, ItemIdentifier, ContentVersion, Range<Int64>, any ContentSink)
                async throws(Failure) -> Void
        )?
    var change:
        (
            @Sendable (InMemoryProvider, ItemIdentifier, any ContentSource, ItemMetadata, ItemVersion)
                async throws(Failure) -> Item
        )?
    var create: (@Sendable (InMemoryProvider, ItemTemplate, (any ContentSource)?) async throws(Failure) -> Item)?
    var move:
        (
            @Sendable (InMemoryProvider, ItemIdentifier, ItemIdentifier, Filename, ItemVersion)
                async throws(Failure) -> Item
        )?
    var delete: (@Sendable (InMemoryProvider, ItemIdentifier, ItemVersion) async throws(Failure) -> Void)?

    func providePlaceholder(for identifier: ItemIdentifier) async throws(Failure) -> Item {
        if let placeholder { return try await placeholder(base, identifier) }
        return try await base.providePlaceholder(for: identifier)
    }

    func enumerateItems(in folder: ItemIdentifier, startingAt page: Page?) async throws(Failure) -> ItemPage {
        if let enumerate { return try await enumerate(base, folder, page) }
        return try await base.enumerateItems(in: folder, startingAt: page)
    }

    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(Failure) {
        if let download { return try await download(base, identifier, version, range, sink) }
        try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
    }

    func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata,
        baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        if let change { return try await change(base, identifier, contents, metadata, baseVersion) }
        return try await base.itemChanged(
            identifier, contents: contents, metadata: metadata, baseVersion: baseVersion)
    }

    func createItem(_ template: ItemTemplate, contents: (any ContentSource)?) async throws(Failure) -> Item {
        if let create { return try await create(base, template, contents) }
        return try await base.createItem(template, contents: contents)
    }

    func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        if let move { return try await move(base, identifier, folder, filename, baseVersion) }
        return try await base.moveItem(identifier, to: folder, as: filename, baseVersion: baseVersion)
    }

    func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(Failure) {
        if let delete { return try await delete(base, identifier, baseVersion) }
        try await base.deleteItem(identifier, baseVersion: baseVersion)
    }
}

extension InMemoryProvider {
    /// What is there under this name now.
    func find(_ name: Filename, in folder: ItemIdentifier) async throws(FileProviderError) -> Item? {
        var page: Page?
        repeat {
            let result = try await enumerateItems(in: folder, startingAt: page)
            if let item = result.items.first(where: { $0.filename == name }) { return item }
            page = result.nextPage
        } while page != nil
        return nil
    }

    /// All that a source gives, whatever it announced.
    func lenientRead(_ source: any ContentSource) async throws(FileProviderError) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let piece = try await source.read(at: Int64(bytes.count), upTo: 1 << 20)
            if piece.isEmpty { return bytes }
            bytes += piece
        }
    }
}
