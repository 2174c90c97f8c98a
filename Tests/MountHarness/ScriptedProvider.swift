package import FileProvider
package import FileProviderTesting
import Synchronization

/// A store in memory whose answers a test can falsify: capabilities, listings, returned items.
///
/// It refuses what capabilities do not allow, as a store should.
package final class ScriptedProvider: MetadataUpdating, ChangeSignaling {
    package typealias Failure = FileProviderError
    package typealias Edit = @Sendable (Item) -> Item

    package struct Script: Sendable {
        /// By name, in any folder; the topmost folder is the empty name.
        package var capabilities: [Filename: ItemCapabilities] = [:]
        /// Replaces the listing of a folder, for the requested page.
        package var listing: (@Sendable ([Item], ItemIdentifier, Page?) throws(FileProviderError) -> ItemPage)?
        /// Changes the items returned from createItem, itemChanged, moveItem, updateMetadata.
        package var reply: [Hook: Edit] = [:]
        /// Changes the items returned from providePlaceholder.
        package var placeholder: Edit?
        /// Replaces the store's download.
        package var download: (@Sendable (Range<Int64>, any ContentSink) async throws(FileProviderError) -> Void)?
    }

    package let base: InMemoryProvider
    private let script: Mutex<Script>

    package init(_ base: InMemoryProvider = InMemoryProvider(pageSize: 50), _ script: Script = Script()) {
        self.base = base
        self.script = Mutex(script)
    }

    private var current: Script { script.withLock { $0 } }

    package func edit(_ body: (inout Script) -> Void) { script.withLock { body(&$0) } }

    /// Changes the capabilities of the item at a path, and signals it.
    package func allow(_ capabilities: ItemCapabilities, at path: String) throws {
        let item = path.isEmpty ? nil : base.item(at: path)
        script.withLock { $0.capabilities[item?.filename ?? ""] = capabilities }
        base.signal(.item(item?.identifier ?? .rootContainer))
    }

    // MARK: Falsified items

    private func dressed(_ item: Item) -> Item {
        let name = item.identifier == .rootContainer ? "" : item.filename
        guard let capabilities = current.capabilities[name] else { return item }
        var item = item
        item.capabilities = capabilities
        item.version.metadata = MetadataVersion(
            bytes: item.version.metadata.bytes + Array("!\(capabilities.rawValue)".utf8))
        return item
    }

    /// A version without the additions of ``dressed(_:)``.
    private func plain(_ version: ItemVersion) -> ItemVersion {
        // They follow an exclamation mark, which the store's own versions do not have.
        let own = version.metadata.bytes.prefix { $0 != UInt8(ascii: "!") }
        return ItemVersion(content: version.content, metadata: MetadataVersion(bytes: own))
    }

    private func require(_ needed: ItemCapabilities, of identifier: ItemIdentifier) async throws(Failure) {
        let item = dressed(try await base.providePlaceholder(for: identifier))
        guard item.capabilities.contains(needed) else {
            throw FileProviderError(.permissionDenied, "\(item.filename): not allowed")
        }
    }

    private func answer(_ item: Item, to hook: Hook) -> Item {
        let item = dressed(item)
        return current.reply[hook].map { $0(item) } ?? item
    }

    // MARK: The hooks

    package func providePlaceholder(for identifier: ItemIdentifier) async throws(Failure) -> Item {
        let item = dressed(try await base.providePlaceholder(for: identifier))
        return current.placeholder.map { $0(item) } ?? item
    }

    package func enumerateItems(in folder: ItemIdentifier, startingAt page: Page?) async throws(Failure) -> ItemPage {
        guard let listing = current.listing else {
            var result = try await base.enumerateItems(in: folder, startingAt: page)
            result.items = result.items.map(dressed)
            return result
        }
        var items: [Item] = []
        var next: Page?
        if let all = try? await base.enumerateItems(in: folder, startingAt: nil) {
            items = all.items
            next = all.nextPage
        }
        while let page = next {
            let more = try await base.enumerateItems(in: folder, startingAt: page)
            items += more.items
            next = more.nextPage
        }
        return try listing(items.map(dressed), folder, page)
    }

    package func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(Failure) {
        if let download = current.download { return try await download(range, sink) }
        try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
    }

    package func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        try await require(.writing, of: identifier)
        return answer(
            try await base.itemChanged(
                identifier, contents: contents, metadata: metadata, baseVersion: plain(baseVersion)), to: .itemChanged)
    }

    package func createItem(_ template: ItemTemplate, contents: (any ContentSource)?) async throws(Failure) -> Item {
        try await require(.addingSubItems, of: template.parentIdentifier)
        return answer(try await base.createItem(template, contents: contents), to: .createItem)
    }

    package func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        try await require(.renaming, of: identifier)
        return answer(
            try await base.moveItem(identifier, to: folder, as: filename, baseVersion: plain(baseVersion)),
            to: .moveItem)
    }

    package func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(Failure) {
        try await require(.deleting, of: identifier)
        try await base.deleteItem(identifier, baseVersion: plain(baseVersion))
    }

    package func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        try await require(.writing, of: identifier)
        return answer(
            try await base.updateMetadata(identifier, to: metadata, baseVersion: plain(baseVersion)),
            to: .updateMetadata)
    }

    package func changeSignals() -> AsyncStream<ChangeSignal> { base.changeSignals() }
}

/// A store in memory with a trash.
package final class TrashProvider: Trashing, ChangeSignaling {
    package typealias Failure = FileProviderError

    package let base = InMemoryProvider(pageSize: 50)
    private let state = Mutex((trashed: [String](), refusal: FileProviderError.Code?.none))

    package init() {}

    /// The names of the trashed items, in order.
    package var trashed: [String] { state.withLock { $0.trashed } }

    /// The error of trashItem from now on.
    package func refuse(_ code: FileProviderError.Code?) { state.withLock { $0.refusal = code } }

    package func trashItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(Failure) {
        if let code = state.withLock({ $0.refusal }) { throw FileProviderError(code, "not into the trash") }
        let name = try await base.providePlaceholder(for: identifier).filename.string
        try await base.deleteItem(identifier, baseVersion: baseVersion)
        state.withLock { $0.trashed.append(name) }
    }

    package func providePlaceholder(for identifier: ItemIdentifier) async throws(Failure) -> Item {
        try await base.providePlaceholder(for: identifier)
    }

    package func enumerateItems(in folder: ItemIdentifier, startingAt page: Page?) async throws(Failure) -> ItemPage {
        try await base.enumerateItems(in: folder, startingAt: page)
    }

    package func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(Failure) {
        try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
    }

    package func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        try await base.itemChanged(identifier, contents: contents, metadata: metadata, baseVersion: baseVersion)
    }

    package func createItem(_ template: ItemTemplate, contents: (any ContentSource)?) async throws(Failure) -> Item {
        try await base.createItem(template, contents: contents)
    }

    package func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        try await base.moveItem(identifier, to: folder, as: filename, baseVersion: baseVersion)
    }

    package func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(Failure) {
        try await base.deleteItem(identifier, baseVersion: baseVersion)
    }

    package func changeSignals() -> AsyncStream<ChangeSignal> { base.changeSignals() }
}
