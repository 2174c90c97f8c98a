import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Testing
import Trees

@testable import SyncEngine

/// What a user says about changes that the store refuses, and about conflicts.
@Suite(.timeLimit(.minutes(10))) struct UserActionTests {
    private let test: TestEngine

    init() throws { test = try TestEngine() }

    private func start() async throws {
        try await test.engine.enumerate(.root)
        test.engine.start()
    }

    private func document(_ text: String) -> StoredEntry { .document(Array(text.utf8)) }

    private func examine() throws -> [CatalogFinding] { try test.catalog.read { try $0.examine() } }

    private func discard(_ item: ItemRecord) async throws {
        try await test.engine.discard(item.id, agreed: try await test.engine.discards(of: item.id))
    }

    private func isRefused(_ name: String) async throws -> Bool {
        try await eventually { try Refusal(test.item(name).failure) != nil }
    }

    // MARK: Retry

    @Test(arguments: Refusal.allCases) func aRefusalIsShownAndTriedAgainWhenAsked(refusal: Refusal) async throws {
        let code = try #require(FileProviderError.Code.allCases.first { $0.description == refusal.rawValue })
        try await start()
        test.plan.fail(.createItem, times: 1, with: code)
        try test.save("a", "text")
        #expect(try await eventually { try test.item("a").failure != nil })
        #expect(try Refusal(test.item("a").failure) == refusal)
        #expect(!refusal.remedy.isEmpty)
        #expect(try await test.engine.retry(nil, timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["a": document("text")])
    }

    @Test func whatPassesByItselfIsNoRefusal() {
        #expect(Refusal(ItemFailure(code: "serverUnreachable", message: "", attempts: 1, retryAt: .now)) == nil)
        #expect(Refusal(ItemFailure(code: "local", message: "", attempts: 1, retryAt: .now)) == nil)
        #expect(Refusal(nil) == nil)
    }

    @Test func onlyWhatIsNamedIsTried() async throws {
        try await start()
        test.plan.fail(.createItem, times: 2, with: .permissionDenied)
        for name in ["a", "b"] as [Filename] { try test.save(name, "text") }
        for name in ["a", "b"] { #expect(try await isRefused(name)) }
        #expect(try await test.engine.retry([try test.item("b").id], timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["b": document("text")])
        #expect(try test.item("a").failure?.attempts == 1)
    }

    @Test func itReturnsWhenItWasRefusedAgain() async throws {
        try await start()
        test.plan.fail(.createItem, times: 1_000, with: .readOnly)
        let folder = try test.makeFolder("f")
        try test.save("a", "text", in: folder)
        #expect(try await isRefused("f"))
        // What is in the folder waits for it, and is tried no sooner.
        let left = try await test.engine.retry(nil, timeout: 3_600)
        #expect(Set(left.compactMap { $0.local?.name }) == ["f", "a"])
        #expect(try test.item("f").failure?.attempts ?? 0 >= 2)
    }

    @Test func aRefusedDeletionOfAFolderReturnsToo() async throws {
        try test.remote.put("f/a", "old")
        try await start()
        let folder = try test.inode("f").id
        try await test.engine.enumerate(folder)
        test.plan.fail(.deleteItem, times: 1_000, with: .permissionDenied)
        try test.unlink("a", in: folder)
        _ = try test.catalog.write { try $0.removeFolder("f", in: .root, settle: 0) }
        test.engine.changed()
        #expect(try await test.engine.retry(nil, timeout: 3_600).count == 2)
    }

    @Test func whatIsPausedIsNotWaitedFor() async throws {
        try await start()
        try await test.engine.setPaused(true)
        try test.save("a", "text")
        #expect(try await test.engine.retry(nil, timeout: 3_600).count == 1)
        try await test.engine.setPaused(false)
        #expect(try await test.engine.retry(nil, timeout: 60).isEmpty)
    }

    // MARK: Discard

    @Test func aRefusedUploadIsGivenUp() async throws {
        try test.remote.put("a", "the store's")
        try await start()
        test.plan.fail(.itemChanged, times: 1_000, with: .insufficientQuota)
        let inode = try test.inode("a")
        try test.write(inode.id, "mine, which is longer")
        #expect(try await isRefused("a"))
        try await discard(try test.item("a"))
        let now = try test.inode("a")
        #expect(now.id == inode.id && now.generation > inode.generation && now.size == 11 && now.bytesPresent == 0)
        #expect(try test.pending().isEmpty && test.item("a").failure == nil)
        #expect(test.volume.changes.contains(.contents(inode.id)))
        test.plan.clear()
        #expect(try await test.engine.download(inode.id) == 11)
        #expect(test.remote.snapshot() == ["a": document("the store's")])
        #expect(try examine().isEmpty)
    }

    @Test func refusedCreationsGo() async throws {
        try await start()
        test.plan.fail(.createItem, times: 1_000, with: .invalidName)
        let folder = try test.makeFolder("f")
        try test.save("a", "text", in: folder)
        #expect(try await isRefused("f"))
        let inode = try test.inode("f").id
        try await discard(try test.item("f"))
        #expect(try test.names().isEmpty && test.pending().isEmpty)
        #expect(test.volume.changes.contains(.removed(inode)))
        #expect(try examine().isEmpty)
    }

    @Test func refusedMovesAndDeletionsAreTakenBack() async throws {
        for name in ["a", "b"] { try test.remote.put(name, name) }
        try await start()
        for hook in [Hook.moveItem, .deleteItem] { test.plan.fail(hook, times: 1_000, with: .permissionDenied) }
        try test.rename("a", "moved")
        let deleted = try test.item("b")
        try test.unlink("b")
        #expect(try await isRefused("moved"))
        #expect(try await eventually { try test.catalog.read { try $0.item(deleted.id)?.failure } != nil })
        try await discard(try test.item("moved"))
        try await discard(deleted)
        #expect(try test.names() == ["a", "b"])
        #expect(try test.pending().isEmpty)
        #expect(test.remote.snapshot() == ["a": document("a"), "b": document("b")])
        #expect(try examine().isEmpty)
    }

    @Test func whatTheStoreHasByThenIsShown() async throws {
        try test.remote.put("a", "old")
        try await start()
        test.plan.fail(.itemChanged, times: 1_000, with: .readOnly)
        try test.write(try test.inode("a").id, "mine")
        #expect(try await isRefused("a"))
        try test.remote.put("a", "new and longer")
        try await discard(try test.item("a"))
        #expect(try await eventually { try test.inode("a").size == 14 })
        #expect(try test.names() == ["a"])
        #expect(try examine().isEmpty)
    }

    @Test func whatIsBeingSentIsWaitedFor() async throws {
        try test.remote.put("a", "old")
        try await start()
        test.plan.latency = .milliseconds(300)
        try test.write(try test.inode("a").id, "mine")
        #expect(try await eventually { test.plan.attempts(of: .itemChanged) == 1 })
        let item = try test.item("a")
        let agreed = try await test.engine.discards(of: item.id)
        // It has been sent: there is nothing to be given up any more.
        await #expect(throws: SyncError.self) { try await test.engine.discard(item.id, agreed: agreed) }
        #expect(test.remote.snapshot() == ["a": document("mine")])
        test.plan.latency = .zero
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(try test.inode("a").size == 4)
    }

    // MARK: Conflicts

    /// `a.txt`, changed on both sides, and the copy in the store.
    private func collide() async throws -> ConflictRecord {
        try test.remote.put("a.txt", "old")
        try await start()
        test.plan.isOffline = true
        try test.write(try test.inode("a.txt").id, "mine")
        try test.remote.put("a.txt", "theirs")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        let conflicts = try test.catalog.read { try $0.conflicts() }
        #expect(conflicts.count == 1)
        return try #require(conflicts.first)
    }

    private func conflictCount() throws -> Int { try test.catalog.read { try $0.conflictCount() } }

    @Test(arguments: [true, false]) func mine(isEvicted: Bool) async throws {
        let conflict = try await collide()
        if isEvicted { #expect(try test.engine.evict(conflict.copy) == 4) }
        let identifier = test.remote.item(at: "a.txt")?.identifier
        let deletions = test.plan.attempts(of: .deleteItem)
        try await test.engine.resolve(conflict, keeping: .mine)
        #expect(try conflictCount() == 0)
        #expect(try test.names() == ["a.txt"])
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["a.txt": document("mine")])
        #expect(test.remote.item(at: "a.txt")?.identifier == identifier)
        #expect(test.plan.attempts(of: .deleteItem) == deletions + 1)
        #expect(try examine().isEmpty)
    }

    @Test func mineLosesNothingWhenItIsRefused() async throws {
        let conflict = try await collide()
        let before = test.remote.snapshot()
        test.plan.fail(.itemChanged, times: 1_000, with: .insufficientQuota)
        try await test.engine.resolve(conflict, keeping: .mine)
        #expect(try await isRefused("a.txt"))
        // The store has both as long as it does not take the change.
        #expect(test.remote.snapshot() == before)
        #expect(test.plan.attempts(of: .deleteItem) == 0)
        test.plan.clear()
        #expect(try await test.engine.retry(nil, timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["a.txt": document("mine")])
    }

    @Test func mineOfAnOriginalThatChangedAgainIsAConflictAgain() async throws {
        let conflict = try await collide()
        test.plan.isOffline = true
        try await test.engine.resolve(conflict, keeping: .mine)
        try test.remote.put("a.txt", "theirs again")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(try conflictCount() == 1)
        let stored = test.remote.snapshot()
        #expect(stored["a.txt"] == document("theirs again"))
        #expect(stored.values.contains(document("mine")) && stored.count == 2)
        #expect(try examine().isEmpty)
    }

    @Test func theirs() async throws {
        let conflict = try await collide()
        try await test.engine.resolve(conflict, keeping: .theirs)
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["a.txt": document("theirs")])
        #expect(try test.names() == ["a.txt"])
        #expect(try conflictCount() == 0)
        #expect(try examine().isEmpty)
    }

    @Test func both() async throws {
        let conflict = try await collide()
        let before = test.remote.snapshot()
        try await test.engine.resolve(conflict, keeping: .both)
        #expect(try conflictCount() == 0)
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == before)
    }
}
