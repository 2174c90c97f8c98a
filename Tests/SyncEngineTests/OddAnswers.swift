import FileProvider
import FileProviderTesting
import MountHarness
import Synchronization

/// A store in memory of which one call does, or answers, something odd.
final class OddAnswers: ForwardingProvider, ChangeSignaling, MetadataUpdating {
    enum Oddity: Sendable {
        /// The request reaches the store twice, as when something on the way sends it again; the second answer comes.
        case twice
        /// A listing without its last item; an answer that tells of one byte less than was sent.
        case short
        /// A listing with an item that is not there; an answer that tells of one byte more than was sent.
        case surplus
    }
    let base: InMemoryProvider
    private struct Armed {
        var hook: Hook
        var callsBefore: Int
        var oddity: Oddity
    }
    private let armed = Mutex<Armed?>(nil)

    init(_ base: InMemoryProvider) { self.base = base }

    /// The call of `hook` after so many others.
    func arm(_ oddity: Oddity, _ hook: Hook, after calls: Int) {
        armed.withLock { $0 = Armed(hook: hook, callsBefore: calls, oddity: oddity) }
    }

    func disarm() { armed.withLock { $0 = nil } }

    /// It has not happened yet.
    var isArmed: Bool { armed.withLock { $0 != nil } }

    private func oddity(of hook: Hook) -> Oddity? {
        armed.withLock { armed in
            guard armed?.hook == hook else { return nil }
            if armed!.callsBefore > 0 {
                armed!.callsBefore -= 1
                return nil
            }
            defer { armed = nil }
            return armed!.oddity
        }
    }

    private func answer(
        _ hook: Hook, _ body: () async throws(FileProviderError) -> Item
    ) async throws(FileProviderError) -> Item {
        let oddity = oddity(of: hook)
        if case .twice = oddity { _ = try? await body() }
        var item = try await body()
        if case .short = oddity { item.size -= 1 }
        if case .surplus = oddity { item.size += 1 }
        return item
    }

    func changeSignals() -> AsyncStream<ChangeSignal> { base.changeSignals() }

    func enumerateItems(
        in folder: ItemIdentifier, startingAt page: Page?
    ) async throws(FileProviderError) -> ItemPage {
        var result = try await base.enumerateItems(in: folder, startingAt: page)
        switch oddity(of: .enumerateItems) {
        case .short: _ = result.items.popLast()
        case .surplus:
            result.items.append(
                Item(
                    identifier: ItemIdentifier("nowhere"), parentIdentifier: folder, filename: "nowhere",
                    kind: .document, size: 5,
                    contentModificationDate: FileTime(seconds: 0),
                    version: ItemVersion(content: ContentVersion("1"), metadata: MetadataVersion("1"))))
        case .twice, nil: break
        }
        return result
    }

    func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await answer(.itemChanged) { () async throws(FileProviderError) in
            try await base.itemChanged(identifier, contents: contents, metadata: metadata, baseVersion: baseVersion)
        }
    }

    func createItem(
        _ template: ItemTemplate, contents: (any ContentSource)?
    ) async throws(FileProviderError) -> Item {
        try await answer(.createItem) { () async throws(FileProviderError) in
            try await base.createItem(template, contents: contents)
        }
    }

    func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await answer(.moveItem) { () async throws(FileProviderError) in
            try await base.moveItem(identifier, to: folder, as: filename, baseVersion: baseVersion)
        }
    }

    func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await answer(.updateMetadata) { () async throws(FileProviderError) in
            try await base.updateMetadata(identifier, to: metadata, baseVersion: baseVersion)
        }
    }

    func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(FileProviderError) {
        if case .twice = oddity(of: .deleteItem) { try? await base.deleteItem(identifier, baseVersion: baseVersion) }
        try await base.deleteItem(identifier, baseVersion: baseVersion)
    }
}
