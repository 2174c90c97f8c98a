import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Testing
import Trees

@testable import SyncEngine

@Suite(.timeLimit(.minutes(10))) struct RemoteTests {
    /// The others who wait for the same listing, and whoever comes next, have it.
    @Test func whoeverIsCancelledWaitsNoLongerForAListingWhichGoesOn() async throws {
        let test = try TestEngine()
        try test.remote.put("a", "text")
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .enumerateItems)
        let fetcher = test.engine.fetcher
        let begun = Task { try await fetcher.fetch(.root, joining: true) }
        await gate.waitForArrivals()
        let joined = Task { try await fetcher.fetch(.root, joining: true) }
        let patient = Task { try await fetcher.fetch(.root, joining: true) }
        let newer = Task { try await fetcher.fetch(.root, joining: false) }
        for task in [begun, joined, newer] {
            task.cancel()
            let result = await task.result
            guard case .failure(let error) = result, case SyncError.cancelled = error else {
                Issue.record("\(result)")
                continue
            }
        }
        #expect(gate.waitingCount == 1)
        gate.open()
        _ = try await patient.value
        #expect(try test.names() == ["a"])
    }

    @Test func signalsReachTheCatalog() async throws {
        let test = try TestEngine()
        try test.remote.put("a", "A")
        try await test.engine.enumerate(.root)
        test.engine.start()
        #expect(try await eventually { test.remote.signalListenerCount == 1 })
        try test.remote.put("b", "B")
        #expect(try await eventually { try test.names() == ["a", "b"] })
        try test.remote.put("a", "changed")
        #expect(try await eventually { (try? test.inode("a"))?.size == 7 })
        _ = try test.remote.rename("b", to: "c")
        #expect(try await eventually { try test.names() == ["a", "c"] })
        try test.remote.remove("a")
        #expect(try await eventually { try test.names() == ["c"] })
        #expect(try test.pending().isEmpty)
    }

    @Test func whatChangedWhileNobodyWasMountedIsSeen() async throws {
        let test = try TestEngine()
        try test.remote.put("a", "A")
        try await test.engine.enumerate(.root)
        try test.remote.put("b", "B")
        test.engine.start()
        #expect(try await eventually { try test.names() == ["a", "b"] })
    }

    @Test func aFolderThatNobodyLookedAtIsNotListed() async throws {
        let test = try TestEngine()
        try test.remote.put("f/a", "A")
        try await test.engine.enumerate(.root)
        test.engine.start()
        #expect(try await eventually { test.remote.signalListenerCount == 1 })
        let folder = try test.inode("f")
        test.remote.forgetCalls()
        test.remote.signal(.folder(try test.item("f").identifier!))
        test.remote.signal(.everything)
        try test.remote.put("b", "B")
        #expect(try await eventually { try test.names() == ["b", "f"] })
        #expect(test.remote.calls(of: .enumerateItems).allSatisfy { $0.identifier == .rootContainer })
        #expect(try test.names(folder.id) == [])
    }

    @Test func anItemThatLeftItsFolderIsFoundInTheOther() async throws {
        let test = try TestEngine()
        try test.remote.put("a", "A")
        try test.remote.mkdir("f")
        try await test.engine.enumerate(.root)
        let folder = try test.inode("f").id
        try await test.engine.enumerate(folder)
        let inode = try test.inode("a").id
        test.engine.start()
        #expect(try await eventually { test.remote.signalListenerCount == 1 })
        _ = try test.remote.rename("a", to: "f/a")
        #expect(try await eventually { try test.names(folder) == ["a"] })
        #expect(try await eventually { try test.names() == ["f"] })
        #expect(try test.inode("f/a").id == inode)
    }

    @Test func manyPagesAreOneListing() async throws {
        let test = try TestEngine(pageSize: 7)
        for number in 0..<50 { try test.remote.put("\(number)", "") }
        try await test.engine.enumerate(.root)
        #expect(try test.names().count == 50)
        #expect(test.remote.calls(of: .enumerateItems).count == 8)
    }

    /// An error on a later page must not look like the absence of what is on it.
    @Test func aListingThatBreaksOffDeletesNothing() async throws {
        let test = try TestEngine(pageSize: 2)
        for number in 0..<6 { try test.remote.put("\(number)", "") }
        try await test.engine.enumerate(.root)
        test.plan.inject(.surplusBytes(0), into: .enumerateItems)
        test.plan.fail(.enumerateItems, with: .serverUnreachable)
        await #expect(throws: SyncError.self) { try await test.engine.enumerate(.root) }
        #expect(try test.names().count == 6)
    }

    @Test func callersAtOnceShareOneListing() async throws {
        let test = try TestEngine()
        try test.remote.put("a", "A")
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .enumerateItems)
        let tasks = (0..<5).map { _ in Task { try await test.engine.enumerate(.root) } }
        await gate.waitForArrivals()
        gate.open()
        for task in tasks { try await task.value }
        // One that came too late to join asks again.
        #expect(test.plan.attempts(of: .enumerateItems) <= 2)
        #expect(try test.names() == ["a"])
    }

    /// The listing began before our rename was confirmed, and ends after it.
    @Test func aListingThatRacedOurOwnChangeDoesNotUndoIt() async throws {
        let test = try TestEngine(pageSize: 1)
        try test.remote.put("a", "A")
        try test.remote.put("b", "B")
        try await test.engine.enumerate(.root)
        test.engine.start()
        #expect(try await eventually { test.remote.signalListenerCount == 1 })
        #expect(try await eventually { test.plan.attempts(of: .enumerateItems) == 4 })
        let gate = Gate()
        // Its own: the engine's may still be at its first listing, and would be joined.
        let fetcher = FolderFetcher(
            mount: test.engine.mount, client: test.engine.client, remote: test.engine.remote,
            reports: test.engine.reports)
        // The first page passes (with "a"), the second hangs.
        test.plan.inject(.surplusBytes(0), into: .enumerateItems)
        test.plan.inject(.hang(gate), into: .enumerateItems)
        let listing = Task { try await fetcher.fetch(.root, joining: false) }
        await gate.waitForArrivals()
        try test.rename("a", "c")
        try test.save("d", "D")
        #expect(try await eventually { try test.pending().isEmpty })
        #expect(test.remote.snapshot().keys.sorted() == ["b", "c", "d"])
        gate.open()
        _ = try await listing.value
        #expect(try test.names() == ["b", "c", "d"])
        #expect(try test.pending().isEmpty)
        #expect(test.remote.snapshot().keys.sorted() == ["b", "c", "d"])
    }

    /// A store may make a folder first and give it its mode then: what a listing in between says of that is not taken.
    @Test("a listing that saw our creation half done", arguments: [true, false])
    func halfMade(listingComesFirst: Bool) async throws {
        let test = try TestEngine()
        try await test.engine.enumerate(.root)
        test.engine.start()
        #expect(try await eventually { test.plan.attempts(of: .enumerateItems) == 2 })
        let (reply, listed) = (Gate(), Gate())
        test.plan.inject(.lateAnswer(reply), into: .createItem)
        try test.makeFolder("f")
        test.engine.changed()
        await reply.waitForArrivals()
        let made = try #require(test.remote.item(at: "f"))
        func give(_ mode: UInt16) async throws {
            let metadata = ItemMetadata(
                contentModificationDate: made.contentModificationDate, posixPermissions: mode)
            let item = try #require(test.remote.item(at: "f"))
            _ = try await test.remote.updateMetadata(item.identifier, to: metadata, baseVersion: item.version)
        }
        try await give(0o700)
        test.plan.inject(.lateAnswer(listed), into: .enumerateItems)
        let fetcher = FolderFetcher(
            mount: test.engine.mount, client: test.engine.client, remote: test.engine.remote,
            reports: test.engine.reports)
        let listing = Task { try await fetcher.fetch(.root, joining: false) }
        await listed.waitForArrivals()
        // What another client makes of it last is what it is.
        try await give(0o711)
        func mode() throws -> UInt32 { try test.inode("f").mode & 0o777 }
        if listingComesFirst {
            listed.open()
            _ = try await listing.value
            #expect(try mode() == 0o755)
            reply.open()
        } else {
            reply.open()
            #expect(try await eventually { try test.pending().isEmpty })
            #expect(try mode() == 0o755)
            listed.open()
            _ = try await listing.value
        }
        #expect(try await eventually { try test.pending().isEmpty && mode() == 0o711 })
        #expect(try test.names() == ["f"])
    }

    /// A signal during a listing: what it tells of may have been on a page that was read before.
    @Test func aChangeDuringAListingIsNotMissed() async throws {
        let test = try TestEngine(pageSize: 1)
        try test.remote.put("a", "A")
        try test.remote.put("b", "B")
        try await test.engine.enumerate(.root)
        let fetcher = FolderFetcher(
            mount: test.engine.mount, client: test.engine.client, remote: test.engine.remote,
            reports: test.engine.reports)
        let gate = Gate()
        test.plan.inject(.surplusBytes(0), into: .enumerateItems)
        test.plan.inject(.hang(gate), into: .enumerateItems)
        let first = Task { try await fetcher.fetch(.root, joining: false) }
        await gate.waitForArrivals()
        try test.remote.put("a", "changed")
        let others = (0..<3).map { _ in Task { try await fetcher.fetch(.root, joining: false) } }
        // They wait for the first one by now, or come after it: both must do.
        for _ in 0..<100 { await Task.yield() }
        gate.open()
        _ = try await first.value
        for task in others { _ = try await task.value }
        #expect(try test.inode("a").size == 7)
    }

    @Test func aDocumentLetGoOfIsEvictedWhenTheProviderSaysSo() async throws {
        let test = try TestEngine()
        test.remote.disposition = .evict
        try test.remote.put("a", "A")
        try await test.engine.enumerate(.root)
        let inode = try test.inode("a")
        #expect(try await test.engine.download(inode.id) == 1)
        #expect(try await eventually { try test.inode("a").extents == nil })
        test.engine.released(inode.id, try test.download("a").0.id)
        #expect(try await eventually { try test.inode("a").extents == RangeSet() })
        #expect(test.remote.calls(of: .stopProvidingItem).count == 1)
    }

    @Test func aProviderThatEnumeratesForEverIsStopped() async throws {
        let test = try EndlessTest()
        await #expect(throws: SyncError.self) { try await test.engine.enumerate(.root) }
    }
}

/// Its pages go round in a circle.
private struct EndlessTest {
    let engine: SyncEngine

    init() throws {
        let test = try TestEngine()
        engine = SyncEngine(
            provider: EndlessProvider(), catalog: test.catalog, store: test.store, times: SyncTimes(),
            defaults: test.engine.mount.defaults, logger: test.engine.mount.logger)
    }
}

private struct EndlessProvider: FileProviderExtension {
    private let refusal = FileProviderError(.unsupported, "only lists")
    func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item { throw refusal }
    func enumerateItems(in folder: ItemIdentifier, startingAt page: Page?) async throws(FileProviderError) -> ItemPage {
        ItemPage(items: [], nextPage: Page(bytes: [page?.bytes.first == 1 ? 2 : 1]))
    }
    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) { throw refusal }
    func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item { throw refusal }
    func createItem(_ template: ItemTemplate, contents: (any ContentSource)?) async throws(FileProviderError) -> Item {
        throw refusal
    }
    func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item { throw refusal }
    func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(FileProviderError) {
        throw refusal
    }
}
