import FileProvider
import FileProviderTesting
import Testing

/// Each fault does what it says, to the calls it is meant for.
@Suite struct FaultTests {
    private let store = InMemoryProvider(pieceSize: 100)
    private let item: Item
    private let faulty: FaultInjectingProvider<InMemoryProvider>
    private var plan: FaultPlan { faulty.plan }

    init() throws {
        item = try store.put("document", (0..<1000).map { UInt8($0 % 251) })
        faulty = FaultInjectingProvider(store)
    }

    private func download(_ sink: CollectingSink) async throws(FileProviderError) {
        try await faulty.startProvidingItem(
            item.identifier, version: item.version.content, range: sink.range, into: sink)
    }

    private func code(of body: () async throws -> Void) async -> FileProviderError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? FileProviderError)?.code
        }
    }

    private func readPlaceholder() async throws { _ = try await faulty.providePlaceholder(for: item.identifier) }

    @Test func nextCallsFailThenAllIsWell() async throws {
        plan.fail(.providePlaceholder, times: 2, with: .busy)
        plan.fail(.providePlaceholder, with: .notAuthenticated)
        #expect(plan.remainingFaults(for: .providePlaceholder) == 3)
        // Another hook is not meant.
        _ = try await faulty.enumerateItems(in: .rootContainer, startingAt: nil)
        #expect(await code(of: readPlaceholder) == .busy)
        #expect(await code(of: readPlaceholder) == .busy)
        #expect(await code(of: readPlaceholder) == .notAuthenticated)
        #expect(await code(of: readPlaceholder) == nil)
        #expect(plan.attempts(of: .providePlaceholder) == 4)
        #expect(store.calls(of: .providePlaceholder).count == 1, "the store was not asked for the others")
    }

    @Test func latency() async throws {
        plan.latency = .milliseconds(100)
        let began = ContinuousClock.now
        try await readPlaceholder()
        #expect(ContinuousClock.now - began >= .milliseconds(100))
        // A wait that is cancelled ends.
        plan.latency = .seconds(3600)
        let task = Task { await code(of: readPlaceholder) }
        task.cancel()
        #expect(await task.value == .cancelled)
    }

    @Test func bandwidthDown() async throws {
        plan.bandwidth = 5000
        let sink = CollectingSink(range: 0..<1000)
        let began = ContinuousClock.now
        try await download(sink)
        #expect(ContinuousClock.now - began >= .milliseconds(200))
        #expect(sink.bytes == store.read("document"))
    }

    @Test func bandwidthUp() async throws {
        plan.bandwidth = 5000
        let began = ContinuousClock.now
        _ = try await faulty.itemChanged(
            item.identifier, contents: BytesSource([UInt8](repeating: 7, count: 1000)),
            metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 0)), baseVersion: item.version)
        #expect(ContinuousClock.now - began >= .milliseconds(200))
        #expect(store.read("document") == [UInt8](repeating: 7, count: 1000))
    }

    @Test func hangUntilReleased() async throws {
        let gate = Gate()
        plan.inject(.hang(gate), into: .providePlaceholder)
        let task = Task { try await faulty.providePlaceholder(for: item.identifier) }
        await gate.waitForArrivals()
        #expect(store.calls.isEmpty)
        gate.open()
        #expect(try await task.value == item)
        #expect(gate.waitingCount == 0)
    }

    @Test func hangHonoursCancellation() async throws {
        let gate = Gate()
        plan.inject(.hang(gate), into: .providePlaceholder, times: 2)
        let task = Task { await code(of: readPlaceholder) }
        await gate.waitForArrivals()
        task.cancel()
        #expect(await task.value == .cancelled)
        // Cancelled before it came to the gate.
        let early = Task { () -> FileProviderError.Code? in
            withUnsafeCurrentTask { $0?.cancel() }
            return await code(of: readPlaceholder)
        }
        #expect(await early.value == .cancelled)
        #expect(gate.waitingCount == 0)
        #expect(store.calls.isEmpty)
    }

    @Test func truncatedWithError() async throws {
        let error = FileProviderError(.serverUnreachable, "reset")
        plan.inject(.truncatedDownload(after: 250, error: error), into: .startProvidingItem)
        let sink = CollectingSink(range: 0..<1000)
        #expect(await code { try await download(sink) } == .serverUnreachable)
        #expect(sink.receivedCount == 250)
        let second = CollectingSink(range: 0..<1000)
        try await download(second)
        #expect(second.bytes == store.read("document"))
    }

    @Test func truncatedInSilence() async throws {
        plan.inject(.truncatedDownload(after: 250, error: nil), into: .startProvidingItem)
        let sink = CollectingSink(range: 0..<1000)
        try await download(sink)
        #expect(sink.receivedCount == 250)
        #expect(sink.bytes == nil)
    }

    @Test func truncationHidesNoRealError() async throws {
        plan.inject(.truncatedDownload(after: 250, error: nil), into: .startProvidingItem)
        try store.remove("document")
        #expect(await code { try await download(CollectingSink(range: 0..<1000)) } == .noSuchItem)
    }

    @Test func surplus() async throws {
        plan.inject(.surplusBytes(10), into: .startProvidingItem)
        let sink = CollectingSink(range: 0..<500)
        #expect(await code { try await download(sink) } == .cannotSynchronize)
        #expect(sink.hasSurplus)
        #expect(sink.writes.last == .init(offset: 500, count: 10))
        #expect(sink.bytes == store.read("document").map { Array($0.prefix(500)) })
    }

    @Test func offline() async throws {
        plan.latency = .seconds(3600)
        plan.isOffline = true
        plan.fail(.providePlaceholder, with: .busy)
        #expect(await code(of: readPlaceholder) == .serverUnreachable)
        #expect(store.calls.isEmpty)
        #expect(plan.remainingFaults(for: .providePlaceholder) == 1)
        plan.clear()
        try await readPlaceholder()
        #expect(plan.attempts(of: .providePlaceholder) == 2)
    }

    @Test func goingOfflineBreaksTransfersOff() async throws {
        let sink = CuttingSink(plan: plan)
        #expect(
            await code {
                try await faulty.startProvidingItem(
                    item.identifier, version: item.version.content, range: 0..<1000, into: sink)
            } == .serverUnreachable)
    }

    @Test func lostReply() async throws {
        plan.inject(.lostReply, into: .createItem)
        let template = ItemTemplate(
            parentIdentifier: .rootContainer, filename: "new", kind: .document,
            contentModificationDate: FileTime(seconds: 0))
        #expect(
            await code { _ = try await faulty.createItem(template, contents: BytesSource("x")) }
                == .serverUnreachable)
        #expect(store.read("new") == Array("x".utf8), "the change was made all the same")
        // An error of the store is no reply to be lost.
        plan.inject(.lostReply, into: .createItem)
        #expect(
            await code { _ = try await faulty.createItem(template, contents: BytesSource("x")) }
                == .filenameCollision)
    }

    @Test func lostReplyOfAMove() async throws {
        plan.inject(.lostReply, into: .moveItem)
        #expect(
            await code {
                _ = try await faulty.moveItem(
                    item.identifier, to: .rootContainer, as: "moved", baseVersion: item.version)
            } == .serverUnreachable)
        #expect(store.snapshot().keys.sorted() == ["moved"])
    }

    @Test func abilitiesGoThrough() async throws {
        let provider: any FileProviderExtension = faulty
        #expect(provider is any MetadataUpdating)
        #expect(!(provider is any Invalidatable))
        #expect(provider is any ChangeEnumerating)
        #expect(provider is any ServerSideCopying)
        #expect(provider is any Trashing)
        #expect(provider is any ThumbnailProviding)
        #expect(provider is any ThumbnailKeeping)
        #expect(provider is any QuotaReporting)
        store.isReadOnly = true
        #expect(provider.isReadOnly)
        #expect(provider.providerIdentifier == store.providerIdentifier)
        var signals = try #require(provider as? any ChangeSignaling).changeSignals().makeAsyncIterator()
        store.signal(.everything)
        #expect(await signals.next() == .everything)
        let plain: any FileProviderExtension = FaultInjectingProvider(PlainProvider())
        #expect(!(plain is any MetadataUpdating))
        #expect(!(plain is any ChangeSignaling))
        #expect(!(plain is any ChangeEnumerating))
        #expect(!(plain is any ServerSideCopying))
        #expect(!(plain is any Trashing))
        #expect(!(plain is any ThumbnailProviding))
        #expect(!(plain is any ThumbnailKeeping))
        #expect(!(plain is any QuotaReporting))
    }

    @Test func stopKeepsWhenItFails() async {
        store.disposition = .evict
        plan.fail(.stopProvidingItem, with: .busy)
        #expect(await faulty.stopProvidingItem(item.identifier) == .keep)
        #expect(await faulty.stopProvidingItem(item.identifier) == .evict)
    }
}

/// Cuts the line after the first piece.
private struct CuttingSink: ContentSink {
    let plan: FaultPlan
    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) { plan.isOffline = true }
}
