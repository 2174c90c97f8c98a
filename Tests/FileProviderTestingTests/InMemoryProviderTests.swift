import FileProvider
import FileProviderTesting
import Testing

/// What the conformance suite cannot see: the other client, the journal, the signals.
@Suite struct InMemoryProviderTests {
    @Test func otherClientWorksByPath() throws {
        let store = InMemoryProvider()
        try store.put("/a/b/document", "one")
        #expect(store.read("a/b/document") == Array("one".utf8))
        let id = try #require(store.item(at: "a/b/document")).identifier
        try store.put("a/b/document", "two")
        #expect(store.item(at: "a/b/document")?.identifier == id)
        try store.mkdir("c")
        try store.rename("a/b", to: "c/d")
        try store.link("c/link", to: "d/document")
        #expect(
            store.snapshot() == [
                "a": .folder, "c": .folder, "c/d": .folder, "c/d/document": .document(Array("two".utf8)),
                "c/link": .link(target: Array("d/document".utf8)),
            ])
        #expect(store.item(at: "c/d/document")?.identifier == id)
        try store.remove("c")
        #expect(store.snapshot() == ["a": .folder])
        #expect(store.read("a") == nil)
        #expect(store.calls.isEmpty)
        let error = #expect(throws: FileProviderError.self) { try store.remove("nowhere") }
        #expect(error?.code == .noSuchItem)
    }

    @Test func journalHasEveryCall() async throws {
        let store = InMemoryProvider()
        let item = try store.put("document", "contents")
        _ = try await store.providePlaceholder(for: item.identifier)
        let sink = CollectingSink(range: 2..<5)
        try await store.startProvidingItem(
            item.identifier, version: item.version.content, range: 2..<5, into: sink)
        #expect(sink.bytes == Array("nte".utf8))
        _ = try await store.moveItem(
            item.identifier, to: .rootContainer, as: "renamed", baseVersion: item.version)
        #expect(
            store.calls == [
                HookCall(.providePlaceholder, item.identifier),
                HookCall(.startProvidingItem, item.identifier, range: 2..<5, contentVersion: item.version.content),
                HookCall(
                    .moveItem, item.identifier, filename: "renamed", folder: .rootContainer,
                    baseVersion: item.version),
            ])
        #expect(store.calls(of: .moveItem).count == 1)
        store.forgetCalls()
        #expect(store.calls.isEmpty)
    }

    @Test func otherClientSetsAttributes() async throws {
        let store = InMemoryProvider()
        var signals = store.changeSignals().makeAsyncIterator()
        let item = try store.put("document", "one")
        #expect(item.extendedAttributes == [:])
        let set = try store.setExtendedAttributes(["user.a": [1]], at: "document")
        #expect(set.extendedAttributes == ["user.a": [1]])
        #expect(set.version.content == item.version.content && set.version.metadata != item.version.metadata)
        #expect(try store.put("document", "two").extendedAttributes == ["user.a": [1]])
        #expect(try store.link("link", to: "document").extendedAttributes == nil)
        #expect(await signals.next() == .folder(.rootContainer))
        #expect(await signals.next() == .item(item.identifier))
    }

    @Test func otherClientIsSignalled() async throws {
        let store = InMemoryProvider()
        var signals = store.changeSignals().makeAsyncIterator()
        let folder = try store.mkdir("folder")
        let item = try store.put("folder/document", "one")
        try store.put("folder/document", "two")
        try store.rename("folder/document", to: "document")
        try store.remove("document")
        store.signal(.everything)
        let expected: [ChangeSignal] = [
            .folder(.rootContainer), .folder(folder.identifier), .item(item.identifier),
            .folder(folder.identifier), .folder(.rootContainer), .folder(.rootContainer), .everything,
        ]
        for signal in expected { #expect(await signals.next() == signal) }
    }

    @Test(arguments: [false, true])
    func ownChangesAreSignalledOnlyIfAsked(_ signalsOwnChanges: Bool) async throws {
        let store = InMemoryProvider(signalsOwnChanges: signalsOwnChanges)
        var signals = store.changeSignals().makeAsyncIterator()
        _ = try await store.createItem(
            ItemTemplate(
                parentIdentifier: .rootContainer, filename: "x", kind: .document,
                contentModificationDate: FileTime(seconds: 0)),
            contents: BytesSource("x"))
        store.signal(.everything)
        #expect(await signals.next() == (signalsOwnChanges ? .folder(.rootContainer) : .everything))
    }

    @Test func contentsThatChangeInMidTransferAreRefused() async throws {
        let store = InMemoryProvider(pieceSize: 10)
        let item = try store.put("document", [UInt8](repeating: 1, count: 100))
        let sink = ChangingSink { _ = try? store.put("document", [UInt8](repeating: 2, count: 100)) }
        let error = await #expect(throws: FileProviderError.self) {
            try await store.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<100, into: sink)
        }
        #expect(error?.code == .versionMismatch)
        #expect(error?.item == store.item(at: "document"))
    }

    @Test func metadataOfAStaleVersionIsRefused() async throws {
        let store = InMemoryProvider()
        let old = try store.put("document", "one")
        let new = try store.put("document", "two")
        let error = await #expect(throws: FileProviderError.self) {
            try await store.updateMetadata(
                old.identifier, to: ItemMetadata(contentModificationDate: FileTime(seconds: 1)),
                baseVersion: old.version)
        }
        #expect(error?.code == .versionMismatch)
        #expect(error?.item == new)
    }

    @Test func topmostFolderStays() async throws {
        let store = InMemoryProvider()
        let root = try await store.providePlaceholder(for: .rootContainer)
        let error = await #expect(throws: FileProviderError.self) {
            try await store.deleteItem(.rootContainer, baseVersion: root.version)
        }
        #expect(error?.code == .permissionDenied)
    }

    @Test func manyThreads() async throws {
        let store = InMemoryProvider(pageSize: 5)
        try await withThrowingTaskGroup { group in
            for index in 0..<50 {
                group.addTask {
                    try store.put("folder-\(index % 5)/document-\(index)", "\(index)")
                    _ = try await store.enumerateItems(in: .rootContainer, startingAt: nil)
                }
            }
            try await group.waitForAll()
        }
        #expect(store.snapshot().count == 55)
        #expect(store.calls.count == 50)
    }
}

/// Changes the store behind the download's back after the first piece.
private struct ChangingSink: ContentSink {
    let change: @Sendable () -> Void
    init(_ change: @escaping @Sendable () -> Void) { self.change = change }
    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) { change() }
}
