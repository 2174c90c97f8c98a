import FileProvider
import FileProviderTesting
import Testing

/// Answers that come twice or late, and connections that break in the middle.
@Suite(.timeLimit(.minutes(10))) struct AnswerFaultTests {
    private let store = InMemoryProvider(pieceSize: 100, features: .all)
    private let item: Item
    private let faulty: FaultInjectingProvider<InMemoryProvider>
    private var plan: FaultPlan { faulty.plan }
    private let old = (0..<1000).map { UInt8($0 % 251) }
    private let new = [UInt8](repeating: 7, count: 1000)

    init() throws {
        item = try store.put("document", old)
        faulty = FaultInjectingProvider(store)
    }

    private func download(_ sink: CollectingSink) async throws(FileProviderError) {
        try await faulty.startProvidingItem(
            item.identifier, version: item.version.content, range: sink.range, into: sink)
    }

    private func upload() async throws(FileProviderError) -> Item {
        try await faulty.itemChanged(
            item.identifier, contents: BytesSource(new),
            metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 0)), baseVersion: item.version)
    }

    private func create() async throws(FileProviderError) -> Item {
        let template = ItemTemplate(
            parentIdentifier: .rootContainer, filename: "new", kind: .document,
            contentModificationDate: FileTime(seconds: 0))
        return try await faulty.createItem(template, contents: BytesSource(new))
    }

    private func code(of body: () async throws -> Void) async -> FileProviderError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? FileProviderError)?.code
        }
    }

    // MARK: Twice

    @Test func bytesComeTwice() async throws {
        plan.inject(.duplicate, into: .startProvidingItem)
        let sink = CollectingSink(range: 0..<1000)
        try await download(sink)
        #expect(sink.bytes == old)
        #expect(sink.writes.count == 20)
        #expect(sink.writes[0] == sink.writes[1])
    }

    @Test func itemsComeTwiceOnAPage() async throws {
        plan.inject(.duplicate, into: .enumerateItems)
        let items = try await faulty.enumerateItems(in: .rootContainer, startingAt: nil).items
        #expect(items == [item, item])
        #expect(try await faulty.enumerateItems(in: .rootContainer, startingAt: nil).items == [item])
    }

    @Test func changesComeTwice() async throws {
        let anchor = try await faulty.currentSyncAnchor()
        try store.put("other", "x")
        try store.remove("document")
        plan.inject(.duplicate, into: .enumerateChanges)
        let page = try await faulty.enumerateChanges(from: anchor)
        #expect(page.updated.map(\.filename) == ["other", "other"])
        #expect(page.deleted == [item.identifier, item.identifier])
    }

    // MARK: Late

    @Test func aLateAnswerSaysWhatWas() async throws {
        let gate = Gate()
        plan.inject(.lateAnswer(gate), into: .providePlaceholder)
        let task = Task { try await faulty.providePlaceholder(for: item.identifier) }
        await gate.waitForArrivals()
        let now = try store.put("document", new)
        gate.open()
        #expect(try await task.value == item)
        #expect(try await faulty.providePlaceholder(for: item.identifier) == now)
    }

    @Test func lateBytesAreThoseThatWere() async throws {
        let gate = Gate()
        plan.inject(.lateAnswer(gate), into: .startProvidingItem)
        let sink = CollectingSink(range: 0..<1000)
        let task = Task { try await download(sink) }
        await gate.waitForArrivals()
        #expect(sink.receivedCount == 0)
        try store.put("document", new)
        gate.open()
        try await task.value
        #expect(sink.bytes == old)
    }

    @Test func allBytesComeBeforeALateEnd() async throws {
        let gate = Gate()
        plan.inject(.lateEnd(gate), into: .startProvidingItem)
        let sink = CollectingSink(range: 0..<1000)
        let task = Task { try await download(sink) }
        await gate.waitForArrivals()
        #expect(sink.bytes == old)
        gate.open()
        try await task.value
    }

    @Test func aLateChangeIsMadeAtOnce() async throws {
        let gate = Gate()
        plan.inject(.lateAnswer(gate), into: .itemChanged)
        let task = Task { try await upload() }
        await gate.waitForArrivals()
        #expect(store.read("document") == new)
        gate.open()
        #expect(try await task.value.size == 1000)
    }

    @Test func anErrorIsLateToo() async throws {
        let gate = Gate()
        plan.inject(.lateAnswer(gate), into: .providePlaceholder, times: 2)
        let gone = ItemIdentifier("gone")
        let task = Task { await code { _ = try await faulty.providePlaceholder(for: gone) } }
        await gate.waitForArrivals()
        #expect(gate.waitingCount == 1)
        // Nobody waits any more.
        task.cancel()
        #expect(await task.value == .cancelled)
        gate.open()
        #expect(await code { _ = try await faulty.providePlaceholder(for: gone) } == .noSuchItem)
    }

    // MARK: Broken off

    @Test func aDownloadBreaksOff() async throws {
        plan.inject(.disconnect(after: 250, .undone), into: .startProvidingItem)
        let sink = CollectingSink(range: 0..<1000)
        #expect(await code { try await download(sink) } == .serverUnreachable)
        #expect(sink.receivedCount == 250)
        // One that is shorter is left alone.
        plan.inject(.disconnect(after: 250, .undone), into: .startProvidingItem)
        try await download(CollectingSink(range: 0..<250))
    }

    @Test func anUploadBreaksOffAndIsForgotten() async throws {
        plan.inject(.disconnect(after: 250, .undone), into: .itemChanged)
        plan.inject(.disconnect(after: 250, .undone), into: .createItem)
        #expect(await code { _ = try await upload() } == .serverUnreachable)
        #expect(await code { _ = try await create() } == .serverUnreachable)
        #expect(store.snapshot() == ["document": .document(old)])
        // What the store refuses before the connection breaks is its own answer.
        plan.inject(.disconnect(after: 250, .undone), into: .itemChanged)
        store.isReadOnly = true
        #expect(await code { _ = try await upload() } == .readOnly)
    }

    @Test func anUploadBreaksOffAndIsDone() async throws {
        plan.inject(.disconnect(after: 250, .done), into: .itemChanged)
        #expect(await code { _ = try await upload() } == .serverUnreachable)
        #expect(store.read("document") == new)
        plan.inject(.disconnect(after: 0, .done), into: .deleteItem)
        let now = try #require(store.item(at: "document"))
        #expect(
            await code { try await faulty.deleteItem(now.identifier, baseVersion: now.version) } == .serverUnreachable)
        #expect(store.snapshot().isEmpty)
    }

    @Test func anUploadBreaksOffAndIsDoneMuchLater() async throws {
        let gate = Gate()
        plan.inject(.disconnect(after: 250, .doneLater(gate)), into: .createItem)
        #expect(await code { _ = try await create() } == .serverUnreachable)
        #expect(store.read("new") == nil)
        gate.open()
        while plan.finishedLateChanges == 0 { await Task.yield() }
        #expect(store.read("new") == new)
        // By then it may be refused.
        let second = Gate()
        plan.inject(.disconnect(after: 250, .doneLater(second)), into: .itemChanged)
        #expect(await code { _ = try await upload() } == .serverUnreachable)
        try store.put("document", "of another client")
        second.open()
        while plan.finishedLateChanges == 1 { await Task.yield() }
        #expect(store.read("document") == Array("of another client".utf8))
    }
}
