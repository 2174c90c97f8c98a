import FileProvider
import FileProviderTesting
import Testing

/// What the store in memory can do besides, and what tests control of it.
@Suite struct AbilityTests {
    private let store = InMemoryProvider(pageSize: 2, features: .all)

    private func code(of body: () async throws -> Void) async -> FileProviderError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? FileProviderError)?.code
        }
    }

    private func template(_ name: Filename, in folder: ItemIdentifier = .rootContainer) -> ItemTemplate {
        ItemTemplate(
            parentIdentifier: folder, filename: name, kind: .document, contentModificationDate: FileTime(seconds: 0))
    }

    @Test func aPlainStoreSaysThatItCannot() async throws {
        let plain = InMemoryProvider()
        let item = try plain.put("a", "text")
        #expect(await code { _ = try await plain.currentSyncAnchor() } == .unsupported)
        #expect(await code { _ = try await plain.quota() } == .unsupported)
        #expect(
            await code { try await plain.trashItem(item.identifier, baseVersion: item.version) } == .unsupported)
        #expect(
            await code {
                _ = try await plain.copyItem(item.identifier, version: item.version.content, as: template("b"))
            } == .unsupported)
        #expect(
            await code {
                _ = try await plain.thumbnail(of: item.identifier, version: item.version.content, size: 64)
            } == .unsupported)
        #expect(plain.snapshot().count == 1)
    }

    @Test func changesComeInPagesAndAnchorsExpire() async throws {
        let kept = try store.put("kept", "x")
        let gone = try store.put("gone", "x")
        let anchor = try await store.currentSyncAnchor()
        try store.put("kept", "changed")
        try store.remove("gone")
        try store.put("new", "x")
        let first = try await store.enumerateChanges(from: anchor)
        #expect(first.hasMore)
        #expect(first.updated.map(\.identifier) == [kept.identifier])
        #expect(first.deleted == [gone.identifier])
        let second = try await store.enumerateChanges(from: first.anchor)
        #expect(!second.hasMore)
        #expect(second.updated.map(\.filename) == ["new"])
        #expect(try await store.currentSyncAnchor() == second.anchor)
        store.forgetChanges()
        #expect(await code { _ = try await store.enumerateChanges(from: anchor) } == .syncAnchorExpired)
        #expect(try await store.enumerateChanges(from: second.anchor).updated.isEmpty)
        // Another store's.
        let other = try await InMemoryProvider(features: .changes).currentSyncAnchor()
        #expect(await code { _ = try await store.enumerateChanges(from: other) } == .syncAnchorExpired)
        #expect(store.calls(of: .enumerateChanges).first?.anchor == anchor)
    }

    @Test func aFullStoreRefusesWhatNeedsRoom() async throws {
        let item = try store.put("a", "12345678")
        store.capacity = 10
        #expect(try await store.quota() == StoreQuota(used: 8, total: 10))
        #expect(
            await code { _ = try await store.createItem(template("b"), contents: BytesSource("123")) }
                == .insufficientQuota)
        #expect(
            await code {
                _ = try await store.copyItem(item.identifier, version: item.version.content, as: template("b"))
            } == .insufficientQuota)
        #expect(store.snapshot().count == 1)
        _ = try await store.createItem(template("b"), contents: BytesSource("12"))
        let metadata = ItemMetadata(contentModificationDate: FileTime(seconds: 0))
        // Less is always welcome.
        store.capacity = 5
        _ = try await store.itemChanged(
            item.identifier, contents: BytesSource("1"), metadata: metadata, baseVersion: item.version)
        #expect(try await store.quota() == StoreQuota(used: 3, total: 5))
        try store.remove("b")
        #expect(try await store.quota().used == 1)
    }

    @Test func capabilitiesAreEnforcedButNotForTheOtherClient() async throws {
        var item = try store.put("a", "text")
        let folder = try store.mkdir("f")
        let before = item.version.metadata
        item = try store.setCapabilities(.readOnly, at: "a")
        #expect(item.capabilities == .readOnly && item.version.metadata != before)
        let metadata = ItemMetadata(contentModificationDate: FileTime(seconds: 0))
        #expect(
            await code {
                _ = try await store.itemChanged(
                    item.identifier, contents: BytesSource("x"), metadata: metadata, baseVersion: item.version)
            } == .permissionDenied)
        #expect(
            await code {
                _ = try await store.moveItem(
                    item.identifier, to: .rootContainer, as: "b", baseVersion: item.version)
            } == .permissionDenied)
        #expect(
            await code { try await store.deleteItem(item.identifier, baseVersion: item.version) } == .permissionDenied)
        #expect(
            await code { try await store.trashItem(item.identifier, baseVersion: item.version) } == .permissionDenied)
        try store.setCapabilities([.reading], at: "f")
        #expect(
            await code { _ = try await store.createItem(template("x", in: folder.identifier), contents: nil) }
                == .permissionDenied)
        try store.setCapabilities([], at: "a")
        let sink = CollectingSink(range: 0..<4)
        #expect(
            await code {
                try await store.startProvidingItem(
                    item.identifier, version: item.version.content, range: 0..<4, into: sink)
            } == .permissionDenied)
        try store.put("a", "changed")
        try store.put("f/x", "new")
        try store.remove("a")
    }

    @Test func theTrashKeepsWhatWasThere() async throws {
        let item = try store.put("f/a", "text")
        try await store.trashItem(item.identifier, baseVersion: item.version)
        #expect(store.snapshot() == ["f": .folder])
        #expect(store.trashContents == [TrashedItem(item: item, entry: .document(Array("text".utf8)))])
        #expect(await code { _ = try await store.providePlaceholder(for: item.identifier) } == .noSuchItem)
        store.emptyTrash()
        #expect(store.trashContents.isEmpty)
    }

    @Test func thumbnailsGoWithTheContents() async throws {
        let item = try store.put("a", "text")
        #expect(try await store.thumbnail(of: item.identifier, version: item.version.content, size: 64) == nil)
        try store.setThumbnail([1, 2, 3], at: "a")
        #expect(
            try await store.thumbnail(of: item.identifier, version: item.version.content, size: 64)
                == Thumbnail(bytes: [1, 2, 3]))
        let changed = try store.put("a", "other")
        #expect(try await store.thumbnail(of: item.identifier, version: changed.version.content, size: 64) == nil)
        #expect(
            await code { _ = try await store.thumbnail(of: item.identifier, version: item.version.content, size: 64) }
                == .versionMismatch)
    }

    @Test func aStoreThatTakesNoChangesTakesNone() async throws {
        let item = try store.put("a", "text")
        store.isReadOnly = true
        let metadata = ItemMetadata(contentModificationDate: FileTime(seconds: 0))
        let attempts: [() async throws -> Void] = [
            { _ = try await store.createItem(template("b"), contents: BytesSource("x")) },
            {
                _ = try await store.itemChanged(
                    item.identifier, contents: BytesSource("x"), metadata: metadata, baseVersion: item.version)
            },
            {
                _ = try await store.moveItem(
                    item.identifier, to: .rootContainer, as: "b", baseVersion: item.version)
            },
            { try await store.deleteItem(item.identifier, baseVersion: item.version) },
            { try await store.trashItem(item.identifier, baseVersion: item.version) },
            { _ = try await store.updateMetadata(item.identifier, to: metadata, baseVersion: item.version) },
            { _ = try await store.copyItem(item.identifier, version: item.version.content, as: template("b")) },
        ]
        for attempt in attempts { #expect(await code(of: attempt) == .readOnly) }
        #expect(store.snapshot() == ["a": .document(Array("text".utf8))])
        try store.put("a", "the other client may")
    }
}
