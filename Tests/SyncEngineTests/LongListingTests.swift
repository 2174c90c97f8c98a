import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import MountHarness
import Synchronization
import Testing
import Trees

@testable import SyncEngine

/// Listings of many items, which are not in memory as a whole.
@Suite(.timeLimit(.minutes(5))) struct LongListingTests {
    /// A folder whose pages come as the test says.
    private final class PagedProvider: ForwardingProvider, ChangeSignaling {
        let base = InMemoryProvider()
        struct State {
            var items: [Item] = []
            var pageSize = 500
            /// Before the page that begins with this item, once.
            var stop: (index: Int, gate: Gate?)?
            /// What it stops with, without a gate.
            var problem = FileProviderError(.serverUnreachable, "away")
            var listings = 0
            var pause = Duration.zero
        }
        let state = Mutex(State())
        private let signals = AsyncStream.makeStream(of: ChangeSignal.self, bufferingPolicy: .bufferingNewest(1))

        func changeSignals() -> AsyncStream<ChangeSignal> { signals.stream }
        func signal() { signals.continuation.yield(.folder(.rootContainer)) }

        func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
            let found = state.withLock { $0.items.first { $0.identifier == identifier } }
            if identifier != .rootContainer {
                if let found { return found }
                throw FileProviderError(.noSuchItem, "no such item")
            }
            return try await base.providePlaceholder(for: identifier)
        }

        func enumerateItems(
            in folder: ItemIdentifier, startingAt page: Page?
        ) async throws(FileProviderError) -> ItemPage {
            let start = page.flatMap { Int(String(decoding: $0.bytes, as: UTF8.self)) } ?? 0
            let (items, end, stop, problem, pause) = state.withLock { state in
                if start == 0 { state.listings += 1 }
                let stop = state.stop?.index == start ? state.stop.take() : nil
                let end = min(start + state.pageSize, state.items.count)
                let items = Array(state.items[min(start, end)..<end])
                return (items, end, stop, state.problem, start == 0 ? state.pause : .zero)
            }
            if let stop {
                guard let gate = stop.gate else { throw problem }
                try await gate.pass()
            }
            if pause > .zero { try? await Task.sleep(for: pause) }
            let isLast = state.withLock { end >= $0.items.count }
            return ItemPage(items: items, nextPage: isLast ? nil : Page(bytes: Array(String(end).utf8)))
        }
    }

    private let provider = PagedProvider()
    private let test: TestEngine
    private let engine: SyncEngine
    private static let count = 5_300

    init() throws {
        test = try TestEngine()
        engine = SyncEngine(
            provider: provider, catalog: test.catalog, store: test.store, times: test.engine.mount.times,
            defaults: test.engine.mount.defaults, logger: test.engine.mount.logger)
        engine.mount.attach(test.volume)
        set { $0.items = (0..<Self.count).map { Self.item($0) } }
    }

    private static func item(_ number: Int, named name: String? = nil, version: String = "1") -> Item {
        Item(
            identifier: ItemIdentifier("id\(number)"), parentIdentifier: .rootContainer,
            filename: Filename(name ?? String(format: "document %05d", number)), kind: .document, size: 7,
            contentModificationDate: FileTime(seconds: 1_000),
            version: ItemVersion(content: ContentVersion(version), metadata: MetadataVersion(version)))
    }

    private func set(_ body: (inout PagedProvider.State) -> Void) { provider.state.withLock { body(&$0) } }
    private func names() throws -> [String] {
        try test.catalog.read { try $0.children(of: .root, after: 0, limit: 10_000) }.map(\.name.string).sorted()
    }
    private var expected: [String] { provider.state.withLock { $0.items.map(\.filename.string).sorted() } }
    private func isListed() throws -> Bool { try test.catalog.read { try $0.inode(.root).isEnumerated } }

    @Test("a first listing is recorded while it arrives, and counts when it is complete") func first() async throws {
        let gate = Gate()
        set { $0.stop = (4_500, gate) }
        let task = Task { try await engine.enumerate(.root) }
        await gate.waitForArrivals()
        #expect(try await eventually { try names() == Array(expected[..<4_000]) })
        #expect(try !isListed())
        gate.open()
        try await task.value
        #expect(try names() == expected)
        #expect(try isListed())
        // The kernel, which knows nothing of it yet, is not told of each name.
        #expect(test.volume.changes == [.attributes(.root)])
        #expect(try await !engine.fetcher.fetch(.root, joining: false), "nothing new the second time")
    }

    @Test("an unordered first listing is recorded at its end") func unordered() async throws {
        let gate = Gate()
        set {
            $0.items.reverse()
            $0.stop = (4_500, gate)
        }
        let task = Task { try await engine.enumerate(.root) }
        await gate.waitForArrivals()
        #expect(try names() == [])
        gate.open()
        try await task.value
        #expect(try names() == expected)
    }

    @Test("a listing whose order breaks in the middle is complete all the same") func orderEnds() async throws {
        set { $0.items[4_000...].reverse() }
        try await engine.enumerate(.root)
        #expect(try names() == expected)
        #expect(try isListed())
    }

    @Test("the listing after a broken one completes it, without items that the store deleted meanwhile")
    func brokenOff() async throws {
        set { $0.stop = (4_500, nil) }
        await #expect(throws: SyncError.self) { try await engine.enumerate(.root) }
        #expect(try names().count == 4_000)
        #expect(try !isListed())
        set { $0.items.removeSubrange(100..<110) }
        try await engine.enumerate(.root)
        #expect(try await eventually { try names() == expected })
        #expect(try isListed())
    }

    @Test("the listing after a broken one is not held in memory as a whole either", arguments: [false, true])
    func memoryAfterBreak(inOrder: Bool) async throws {
        set { $0.stop = (4_500, nil) }
        await #expect(throws: SyncError.self) { try await engine.enumerate(.root) }
        set { $0.items = (0..<60_000).map { Self.item(inOrder ? $0 : $0 * 7_919 % 60_000) } }
        var parts = ListingParts(
            mount: engine.mount, remote: engine.remote, folder: .root, since: engine.remote.ownChanges.ask())
        var items: [Item] = []
        var most = 0
        for start in stride(from: 0, to: 60_000, by: 500) {
            items += provider.state.withLock { Array($0.items[start..<start + 500]) }
            try await parts.take(&items)
            most = max(most, items.count)
        }
        #expect(most < (inOrder ? ListingParts.size : ListingParts.sizeWithoutOrder.upperBound))
        try await parts.end(&items)
        #expect(items.isEmpty && parts.seen == 60_000 && parts.known.count == 60_000)
        #expect(parts.refused.isEmpty)
    }

    @Test("an item renamed after a broken listing, and another item under its old name")
    func namesMoveOn() async throws {
        set { $0.stop = (4_500, nil) }
        await #expect(throws: SyncError.self) { try await engine.enumerate(.root) }
        let before = try test.inode("document 00100").id
        set {
            $0.items[100] = Self.item(9_000, named: "document 00100")
            $0.items.append(Self.item(100, named: "document 99999"))
        }
        try await engine.enumerate(.root)
        #expect(try names() == expected)
        #expect(try test.inode("document 99999").id == before)
        #expect(engine.remote.refused.summary(of: .root) == nil)
    }

    @Test("a document made here during a first listing, under a name in that listing, is not refused")
    func madeMeanwhile() async throws {
        let gate = Gate()
        set { $0.stop = (2_500, gate) }
        let task = Task { try await engine.enumerate(.root) }
        await gate.waitForArrivals()
        #expect(try await eventually { try names().count == 2_000 })
        let made = try test.save("document 05000", "mine")
        gate.open()
        try await task.value
        #expect(try names() == expected)
        // As after a listing that came at once: the upload will find out that there are two.
        #expect(try test.item("document 05000").inode == made)
        #expect(try test.pending().map(\.inode) == [made])
        #expect(try test.catalog.read { try $0.knownItem(ItemIdentifier("id5000")) } != nil)
        #expect(engine.remote.refused.summary(of: .root) == nil)
    }

    @Test("an invalid listing leaves only items that a program has used") func takenBack() async throws {
        let gate = Gate()
        set { $0.stop = (2_500, gate) }
        let task = Task { try await engine.enumerate(.root) }
        await gate.waitForArrivals()
        #expect(try await eventually { try names().count == 2_000 })
        try test.write(try test.inode("document 00007").id, "changed")
        test.volume.setOpen(try test.inode("document 00009").id, true)
        set {
            $0.stop = (4_500, nil)
            $0.problem = FileProviderError(.cannotSynchronize, "it does not end")
        }
        gate.open()
        await #expect(throws: SyncError.self) { try await task.value }
        #expect(try names() == ["document 00007", "document 00009"])
        #expect(try !isListed())
        let rows = try test.catalog.read { try $0.knownItems(in: .rootContainer).count }
        #expect(rows == 2)
        try await engine.enumerate(.root)
        #expect(try await eventually { try names() == expected })
        #expect(try isListed())
    }

    @Test("new, changed and deleted items are found in a long listing") func later() async throws {
        try await engine.enumerate(.root)
        let before = try test.inode("document 01234").generation
        set {
            $0.items[1_234] = Self.item(1_234, version: "2")
            $0.items[5_200] = Self.item(5_200, named: "another name")
            $0.items.remove(at: 40)
            $0.items.append(Self.item(9_999))
        }
        #expect(try await engine.fetcher.fetch(.root, joining: false))
        #expect(try await eventually { try names() == expected })
        #expect(try test.inode("document 01234").generation == before + 1)
    }

    @Test("two items of one name in a long listing: one is shown, and the other is reported") func twice() async throws
    {
        set { $0.items[3_000] = Self.item(3_000, named: "document 00002") }
        try await engine.enumerate(.root)
        #expect(try names().count == Self.count - 1)
        for _ in 0..<2 {
            #expect(
                engine.remote.refused.summary(of: .root)
                    == "1 entry of the store cannot be shown: “document 00002” (another item has the same name)")
            _ = try await engine.fetcher.fetch(.root, joining: false)
        }
    }

    @Test("only the new items of a long listing are held in memory") func memory() async throws {
        try await engine.enumerate(.root)
        var parts = ListingParts(
            mount: engine.mount, remote: engine.remote, folder: .root, since: engine.remote.ownChanges.ask())
        var items: [Item] = []
        var most = 0
        for start in stride(from: 0, to: Self.count, by: 500) {
            items += provider.state.withLock { Array($0.items[start..<min(start + 500, Self.count)]) }
            most = max(most, items.count)
            try await parts.take(&items)
        }
        try await parts.end(&items)
        #expect(most <= ListingParts.size)
        #expect(parts.count + items.count == Self.count)
    }

    @Test("a folder with a long listing is not listed for every signal without a pause") func rest() async throws {
        set {
            $0.items.removeSubrange(10...)
            $0.pause = .milliseconds(1_100)
        }
        try await engine.enumerate(.root)
        engine.start()
        #expect(try await eventually { provider.state.withLock { $0.listings } >= 2 })
        let (before, start) = (provider.state.withLock { $0.listings }, ContinuousClock.now)
        for _ in 0..<80 {
            provider.signal()
            try await Task.sleep(for: .milliseconds(100))
        }
        // One takes 1.1 s, and is followed by a rest of three times that. (Else by 0.4 s.)
        let seconds = start.duration(to: .now) / .seconds(1)
        let listings = provider.state.withLock { $0.listings } - before
        #expect(Double(listings) <= seconds / 4.4 + 1.5)
        set { $0.items.removeLast() }
        provider.signal()
        #expect(try await eventually { try names() == expected })
        await engine.stop()
    }
}
