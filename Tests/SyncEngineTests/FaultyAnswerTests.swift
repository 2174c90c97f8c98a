import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Testing
import Trees

@testable import SyncEngine

/// Answers that come twice or late, and connections that break in the middle: nothing is lost, no wrong byte is shown, and
/// both sides end up with the same.
@Suite(.timeLimit(.minutes(10))) struct FaultyAnswerTests {
    private let test: TestEngine
    private let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) }

    init() throws { test = try TestEngine() }

    private func start() async throws {
        try await test.engine.enumerate(.root)
        test.engine.start()
        #expect(try await eventually { test.remote.signalListenerCount == 1 })
        // The engine's own first look is over: a fault is for what the test does.
        #expect(try await eventually { test.plan.attempts(of: .enumerateItems) >= 2 })
        #expect(try await eventually { try test.pending().isEmpty })
    }

    private func document(_ text: String) -> StoredEntry { .document(Array(text.utf8)) }

    private func read(_ content: ContentFile, _ range: Range<Int64>) throws -> [UInt8] {
        var found = [UInt8](repeating: 0, count: Int(range.upperBound - range.lowerBound))
        _ = try found.withUnsafeMutableBytes { try content.read(into: $0, at: range.lowerBound) }
        return found
    }

    private func provideAll(_ path: String) async throws -> [UInt8] {
        let (content, target) = try test.download(path)
        let size = try test.inode(path).size
        try await test.engine.downloader.provide(0..<size, of: content, for: target)
        return try read(content, 0..<size)
    }

    /// Both sides have this, and nothing is pending.
    private func expect(_ snapshot: [String: StoredEntry]) async throws {
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == snapshot)
        try await test.engine.enumerate(.root)
        #expect(try test.names() == snapshot.keys.sorted())
        #expect(try test.pending().isEmpty)
    }

    // MARK: Slow

    @Test func aSlowStoreEndsUpTheSame() async throws {
        try test.remote.put("a", "old")
        try test.remote.put("b", bytes)
        try await start()
        test.plan.latency = .milliseconds(30)
        try test.write(try test.inode("a").id, "new")
        try test.save("c", "C")
        try test.rename("b", "d")
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(try await provideAll("d") == bytes)
        try await expect(["a": document("new"), "c": document("C"), "d": .document(bytes)])
    }

    // MARK: Twice

    @Test func bytesThatComeTwiceAreTheSameBytes() async throws {
        try test.remote.put("a", bytes)
        try await test.engine.enumerate(.root)
        test.plan.inject(.duplicate, into: .startProvidingItem, times: 10)
        #expect(try await provideAll("a") == bytes)
        #expect(try test.download("a").0.isComplete)
        #expect(try test.download("a").0.bytesPresent == 100_000)
    }

    @Test func anItemThatComesTwiceOnAPageIsOneItem() async throws {
        try test.remote.put("a", "A")
        try test.remote.put("f/b", "B")
        test.plan.inject(.duplicate, into: .enumerateItems, times: 3)
        try await test.engine.enumerate(.root)
        #expect(try test.names() == ["a", "f"])
        try await test.engine.enumerate(try test.inode("f").id)
        #expect(try test.names(try test.inode("f").id) == ["b"])
        // Also when it is known already.
        try test.remote.put("a", "changed")
        try await test.engine.enumerate(.root)
        #expect(try test.names() == ["a", "f"])
        #expect(try test.inode("a").size == 7)
        #expect(try test.pending().isEmpty)
    }

    // MARK: Late

    @Test func lateBytesAreNotTakenForThoseOfTheNewVersion() async throws {
        try test.remote.put("a", "old bytes")
        try await test.engine.enumerate(.root)
        let gate = Gate()
        test.plan.inject(.lateAnswer(gate), into: .startProvidingItem)
        let (content, target) = try test.download("a")
        let reader = Task { try await test.engine.downloader.provide(0..<9, of: content, for: target) }
        await gate.waitForArrivals()
        try test.remote.put("a", "new bytes!")
        try await test.engine.enumerate(.root)
        gate.open()
        // It gets what it asked for, or hears that there is something newer; never a mixture.
        if (try? await reader.value) != nil { #expect(try read(content, 0..<9) == Array("old bytes".utf8)) }
        #expect(try await provideAll("a") == Array("new bytes!".utf8))
    }

    /// The whole listing was answered before our changes, and comes after them.
    @Test func aLateListingDoesNotUndoOurOwnChanges() async throws {
        try test.remote.put("a", "A")
        try test.remote.put("b", "B")
        try test.remote.put("e", "E")
        try await start()
        let gate = Gate()
        let fetcher = FolderFetcher(
            mount: test.engine.mount, client: test.engine.client, remote: test.engine.remote,
            reports: test.engine.reports)
        test.plan.inject(.lateAnswer(gate), into: .enumerateItems)
        let listing = Task { try await fetcher.fetch(.root, joining: false) }
        await gate.waitForArrivals()
        try test.rename("a", "c")
        try test.save("d", "D")
        try test.write(try test.inode("b").id, "ours")
        try test.unlink("e")
        #expect(try await eventually { try test.pending().isEmpty })
        gate.open()
        _ = try await listing.value
        #expect(try test.names() == ["b", "c", "d"])
        #expect(try test.inode("b").size == 4)
        try await expect(["b": document("ours"), "c": document("A"), "d": document("D")])
    }

    @Test func aLateListingDoesNotBringBackWhatTheStoreHadBefore() async throws {
        try test.remote.put("a", "old")
        try test.remote.put("gone", "x")
        try await start()
        let gate = Gate()
        test.plan.inject(.lateAnswer(gate), into: .enumerateItems)
        test.remote.signal(.folder(.rootContainer))
        await gate.waitForArrivals()
        try test.remote.put("a", "newer")
        try test.remote.remove("gone")
        try test.remote.put("new", "x")
        gate.open()
        #expect(try await eventually { try test.names() == ["a", "new"] })
        #expect(try await eventually { try test.inode("a").size == 5 })
        #expect(try await provideAll("a") == Array("newer".utf8))
        #expect(test.remote.calls.allSatisfy { ![.createItem, .itemChanged, .deleteItem].contains($0.hook) })
    }

    @Test func aLatePlaceholderDoesNotUndoOurOwnChange() async throws {
        let item = try test.remote.put("a", "old")
        try await start()
        let gate = Gate()
        test.plan.inject(.lateAnswer(gate), into: .providePlaceholder)
        test.remote.signal(.item(item.identifier))
        await gate.waitForArrivals()
        try test.write(try test.inode("a").id, "ours")
        #expect(try await eventually { test.remote.read("a") == Array("ours".utf8) })
        gate.open()
        try await expect(["a": document("ours")])
        #expect(try test.inode("a").size == 4)
    }

    @Test(arguments: [Hook.createItem, .itemChanged, .moveItem, .deleteItem])
    func aLateAnswerToOurOwnChangeIsStillTheAnswer(hook: Hook) async throws {
        try test.remote.put("a", "old")
        try await start()
        let gate = Gate()
        test.plan.inject(.lateAnswer(gate), into: hook)
        let expected = try make(hook)
        await gate.waitForArrivals()
        // The store says it by another way, first.
        test.remote.signal(.folder(.rootContainer))
        test.remote.signal(.everything)
        try await test.engine.enumerate(.root)
        gate.open()
        try await expect(expected)
    }

    // MARK: Broken off

    @Test func aDownloadThatBreaksOffGoesOnWhereItWas() async throws {
        try test.remote.put("a", bytes)
        try await test.engine.enumerate(.root)
        test.plan.inject(.disconnect(after: 20_000, .undone), into: .startProvidingItem, times: 2)
        let (content, target) = try test.download("a")
        var attempts = 0
        while !content.isComplete, attempts < 5 {
            attempts += 1
            try? await test.engine.downloader.provide(0..<100_000, of: content, for: target)
        }
        #expect(try read(content, 0..<100_000) == bytes)
        let starts = test.remote.calls(of: .startProvidingItem).compactMap { $0.range?.lowerBound }
        #expect(starts == starts.sorted() && starts.last ?? 0 >= 20_000, "\(starts)")
    }

    @Test(arguments: [Hook.createItem, .itemChanged, .moveItem, .deleteItem])
    func aChangeThatBreaksOffIsMadeAgain(hook: Hook) async throws {
        try test.remote.put("a", "old")
        try await start()
        test.plan.inject(.disconnect(after: 2, .undone), into: hook, times: 2)
        try await expect(try make(hook))
        #expect(test.plan.remainingFaults(for: hook) == 0)
    }

    @Test(arguments: [Hook.createItem, .itemChanged, .moveItem, .deleteItem])
    func aChangeThatWasMadeThoughItBrokeOffIsMadeOnce(hook: Hook) async throws {
        try test.remote.put("a", "old")
        try await start()
        test.plan.inject(.disconnect(after: 2, .done), into: hook)
        try await expect(try make(hook))
        #expect(test.plan.remainingFaults(for: hook) == 0)
    }

    /// The store makes the broken change after all, when the second attempt has been made long ago.
    @Test(arguments: [Hook.createItem, .itemChanged, .moveItem, .deleteItem])
    func aChangeThatTheStoreMakesMuchLaterDoesNoHarm(hook: Hook) async throws {
        try test.remote.put("a", "old")
        try await start()
        let gate = Gate()
        test.plan.inject(.disconnect(after: 2, .doneLater(gate)), into: hook)
        let expected = try make(hook)
        try await expect(expected)
        gate.open()
        #expect(try await eventually { test.plan.finishedLateChanges == 1 })
        test.remote.signal(.everything)
        try await expect(expected)
    }

    /// The store makes the broken change before the second attempt, and by then there is a newer one here.
    @Test func whatTheStoreMadeLateIsNoConflictWithWhatFollowed() async throws {
        try test.remote.put("a", "old")
        try await start()
        let gate = Gate()
        test.plan.inject(.disconnect(after: 2, .doneLater(gate)), into: .itemChanged)
        test.plan.fail(.itemChanged, times: 3, with: .serverUnreachable)
        try test.write(try test.inode("a").id, "first")
        await gate.waitForArrivals()
        gate.open()
        #expect(try await eventually { test.remote.read("a") == Array("first".utf8) })
        try test.write(try test.inode("a").id, "second")
        try await expect(["a": document("second")])
    }

    @Test func aCreationThatTheStoreMadeLateIsNoConflictWithWhatFollowed() async throws {
        try await start()
        let gate = Gate()
        test.plan.inject(.disconnect(after: 2, .doneLater(gate)), into: .createItem)
        test.plan.fail(.createItem, times: 3, with: .serverUnreachable)
        let inode = try test.save("a", "first")
        test.engine.changed()
        await gate.waitForArrivals()
        gate.open()
        #expect(try await eventually { test.remote.read("a") == Array("first".utf8) })
        try test.write(inode, "second")
        try await expect(["a": document("second")])
    }

    /// What another client made of it is a conflict all the same.
    @Test func whatAnotherClientMadeAfterALateChangeIsAConflict() async throws {
        try test.remote.put("a", "old")
        try await start()
        let gate = Gate()
        test.plan.inject(.disconnect(after: 2, .doneLater(gate)), into: .itemChanged)
        test.plan.fail(.itemChanged, times: 3, with: .serverUnreachable)
        try test.write(try test.inode("a").id, "first")
        await gate.waitForArrivals()
        gate.open()
        #expect(try await eventually { test.remote.read("a") == Array("first".utf8) })
        try test.write(try test.inode("a").id, "second")
        try test.remote.put("a", "fifth")
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        let stored = test.remote.snapshot()
        #expect(stored["a"] == document("fifth"))
        #expect(stored.count == 2 && stored.values.contains(document("second")))
    }

    private func make(_ hook: Hook) throws -> [String: StoredEntry] {
        switch hook {
        case .createItem:
            try test.save("new", "new")
            test.engine.changed()
            return ["a": document("old"), "new": document("new")]
        case .itemChanged:
            try test.write(try test.inode("a").id, "new")
            return ["a": document("new")]
        case .moveItem:
            try test.rename("a", "new")
            return ["new": document("old")]
        default:
            try test.unlink("a")
            return [:]
        }
    }
}
