import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import MountHarness
import Testing
import Trees

@testable import SyncEngine

@Suite(.timeLimit(.minutes(10))) struct UploadQueueTests {
    private let test: TestEngine

    init() throws { test = try TestEngine() }

    /// The root has been listed and the queue runs.
    private func start() async throws {
        try await test.engine.enumerate(.root)
        test.engine.start()
    }

    private func document(_ text: String) -> StoredEntry { .document(Array(text.utf8)) }

    @Test func creationsReachTheStoreParentsFirst() async throws {
        try await start()
        let folder = try test.makeFolder("f")
        let inner = try test.makeFolder("g", in: folder)
        try test.save("a", "text", in: inner)
        test.engine.changed()
        #expect(try await eventually { test.remote.snapshot()["f/g/a"] == document("text") })
        #expect(try await eventually { try test.pending().isEmpty })
    }

    @Test func anEditIsOneItemChangedWithItsBaseVersion() async throws {
        let item = try test.remote.put("a", "old")
        try await start()
        try test.write(try test.inode("a").id, "new")
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.read("a") == Array("new".utf8))
        let calls = test.remote.calls(of: .itemChanged)
        #expect(calls.count == 1)
        #expect(calls.first?.baseVersion?.content == item.version.content)
        #expect(test.remote.item(at: "a")?.identifier == item.identifier)
    }

    @Test(arguments: [Hook.createItem, .itemChanged, .moveItem, .deleteItem])
    func aLostReplyIsNoConflict(hook: Hook) async throws {
        try test.remote.put("a", "old")
        try await start()
        test.plan.inject(.lostReply, into: hook)
        switch hook {
        case .createItem: try test.save("new", "new")
        case .itemChanged: try test.write(try test.inode("a").id, "new")
        case .moveItem: try test.rename("a", "new")
        default: try test.unlink("a")
        }
        #expect(try await eventually { test.plan.remainingFaults(for: hook) == 0 })
        #expect(try await eventually { try test.pending().isEmpty })
        let expected: [String: StoredEntry] =
            switch hook {
            case .createItem: ["a": document("old"), "new": document("new")]
            case .itemChanged: ["a": document("new")]
            case .moveItem: ["new": document("old")]
            default: [:]
            }
        #expect(test.remote.snapshot() == expected)
        #expect(try test.names() == expected.keys.sorted())
    }

    /// It is over: no error stays to be shown.
    @Test(arguments: [Hook.createItem, .itemChanged, .moveItem])
    func aLostReplyLeavesNoError(hook: Hook) async throws {
        try test.remote.put("a", "old")
        try await start()
        test.plan.inject(.lostReply, into: hook)
        switch hook {
        case .createItem: try test.save("new", "new")
        case .itemChanged: try test.write(try test.inode("a").id, "new")
        default: try test.rename("a", "new")
        }
        #expect(try await eventually { test.plan.remainingFaults(for: hook) == 0 })
        #expect(try await eventually { try test.pending().isEmpty })
        let name = hook == .itemChanged ? "a" : "new"
        #expect(try await eventually { try test.item(name).failure == nil })
    }

    @Test func aLostReplyToAFolderIsNoConflict() async throws {
        try await start()
        test.plan.inject(.lostReply, into: .createItem)
        let folder = try test.makeFolder("f")
        try test.save("a", "text", in: folder)
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["f": .folder, "f/a": document("text")])
        #expect(try test.names() == ["f"])
        #expect(try test.names(folder) == ["a"])
    }

    @Test func aMismatchKeepsBoth() async throws {
        try test.remote.put("a.txt", "old")
        try await start()
        test.plan.isOffline = true
        try test.write(try test.inode("a.txt").id, "mine")
        try test.remote.put("a.txt", "theirs")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        let stored = test.remote.snapshot()
        #expect(stored["a.txt"] == document("theirs"))
        let copy = try #require(stored.keys.first { $0 != "a.txt" })
        #expect(copy.hasPrefix("a (conflicted copy, ") && copy.hasSuffix(").txt"))
        #expect(stored[copy] == document("mine"))
        #expect(stored.count == 2)
        #expect(try test.names() == stored.keys.sorted())
    }

    @Test func aTakenNameKeepsBoth() async throws {
        try await start()
        test.plan.isOffline = true
        try test.save("a", "mine")
        try test.remote.put("a", "theirs")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        let stored = test.remote.snapshot()
        #expect(stored["a"] == document("theirs"))
        #expect(stored.count == 2 && stored.values.contains(document("mine")))
    }

    /// A catalog that does not answer is not one in which nothing is pending.
    @Test func whatCannotBeReadFromTheCatalogIsSentWhenItCan() async throws {
        try await start()
        let events = test.engine.reports.log.listen(last: 0)
        try SQLite.execute("ALTER TABLE conflict RENAME TO elsewhere", in: test.catalog.path)
        try test.save("a", "text")
        #expect(
            try await eventually {
                events.now(most: 100).events.contains { $0.kind == .error && $0.message?.contains("catalog") == true }
            })
        #expect(test.remote.snapshot().isEmpty)
        try SQLite.execute("ALTER TABLE elsewhere RENAME TO conflict", in: test.catalog.path)
        // By itself, without anybody saying "sync".
        #expect(try await eventually { test.remote.snapshot() == ["a": document("text")] })
        #expect(try await eventually { try test.pending().isEmpty })
    }

    /// A failure that cannot be written down does not make the next try come at once.
    @Test func aFailureThatCannotBeRecordedWaitsAsWell() async throws {
        let clock = ManualClock()
        let test = try TestEngine(firstRetry: 1, clock: clock)
        try await test.engine.enumerate(.root)
        try SQLite.execute(
            "CREATE TRIGGER refusing BEFORE UPDATE OF attempts ON item BEGIN SELECT RAISE(ABORT, 'refused'); END",
            in: test.catalog.path)
        test.plan.fail(.createItem, times: 1_000, with: .cannotSynchronize)
        try test.save("a", "text")
        test.engine.start()
        #expect(try await eventually { test.plan.attempts(of: .createItem) > 0 })
        clock.advance(by: .milliseconds(500))
        try await Task.sleep(for: .milliseconds(300))
        #expect(test.plan.attempts(of: .createItem) == 1)
        try SQLite.execute("DROP TRIGGER refusing", in: test.catalog.path)
        test.plan.clear()
        #expect(
            try await eventually {
                clock.advance(by: .milliseconds(100))
                return test.remote.snapshot() == ["a": document("text")]
            })
        await test.engine.stop()
    }

    @Test func offlineChangesWaitAndAreShown() async throws {
        try await start()
        test.plan.isOffline = true
        try test.save("a", "text")
        #expect(try await eventually { try test.item("a").failure?.code == "serverUnreachable" })
        #expect(try await eventually { try test.item("a").failure?.attempts ?? 0 >= 2 })
        #expect(try test.pending().count == 1)
        #expect(try await test.engine.sync(timeout: 0.2).count == 1)
        #expect(test.remote.snapshot().isEmpty)
        test.plan.isOffline = false
        // By itself, without anybody saying "sync".
        #expect(try await eventually { test.remote.snapshot() == ["a": document("text")] })
        #expect(try await eventually { try test.pending().isEmpty })
        #expect(try test.item("a").failure == nil)
    }

    @Test func aFailedChangeIsTriedEverLessOften() async throws {
        try await start()
        test.plan.fail(.createItem, times: 4, with: .cannotSynchronize)
        try test.save("a", "text")
        #expect(try await eventually { test.remote.read("a") != nil })
        #expect(test.plan.attempts(of: .createItem) == 5)
    }

    @Test func aRefusedChangeIsNeverDropped() async throws {
        try await start()
        test.plan.fail(.createItem, times: 1_000, with: .permissionDenied)
        try test.save("a", "text")
        #expect(try await eventually { try test.item("a").failure != nil })
        let failure = try #require(try test.item("a").failure)
        #expect(failure.code == "permissionDenied")
        #expect(!failure.message.isEmpty)
        #expect(failure.retryAt > FileTime.now.adding(seconds: 20))
        #expect(try await test.engine.sync(timeout: 0.3).map(\.local?.name) == ["a"])
        test.plan.clear()
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.read("a") == Array("text".utf8))
    }

    @Test func oneRefusedChangeDoesNotHoldUpTheOthers() async throws {
        try await start()
        test.plan.fail(.createItem, times: 1, with: .permissionDenied)
        try test.save("refused", "1")
        #expect(try await eventually { try test.item("refused").failure != nil })
        for number in 0..<20 { try test.save(Filename("\(number)"), "text") }
        #expect(try await eventually { test.remote.snapshot().count == 20 })
    }

    @Test func aFolderThatIsGoneIsMadeAgain() async throws {
        try test.remote.put("f/old", "old")
        try await start()
        try await test.engine.enumerate(try test.inode("f").id)
        test.plan.isOffline = true
        let folder = try test.inode("f").id
        try test.save("new", "new", in: folder)
        try test.remote.remove("f")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["f": .folder, "f/new": document("new")])
        #expect(try await eventually { try test.names(folder) == ["new"] })
    }

    @Test func anEditOfADeletedDocumentMakesItAgain() async throws {
        try test.remote.put("a", "old")
        try await start()
        test.plan.isOffline = true
        try test.write(try test.inode("a").id, "work")
        try test.remote.remove("a")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["a": document("work")])
    }

    @Test func aRemoteEditTakesADeletionBack() async throws {
        try test.remote.put("a", "old")
        try await start()
        test.plan.isOffline = true
        try test.unlink("a")
        try test.remote.put("a", "newer")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["a": document("newer")])
        #expect(try await eventually { try test.names() == ["a"] })
        #expect(try test.inode("a").size == 5)
    }

    /// What was deleted was the version that was seen here, also when a listing has told of the next one since.
    @Test func aNewerVersionThatWasHeardOfTakesADeletionBackToo() async throws {
        try test.remote.put("a", "old")
        try await start()
        try await test.engine.setPaused(true)
        try test.unlink("a")
        try test.remote.put("a", "newer")
        try await test.engine.enumerate(.root)
        try await test.engine.setPaused(false)
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["a": document("newer")])
        #expect(try await eventually { try test.names() == ["a"] })
        #expect(try test.inode("a").size == 5)
    }

    @Test func aDeletedFolderWithSomethingNewComesBack() async throws {
        try test.remote.put("f/a", "old")
        try await start()
        let folder = try test.inode("f").id
        try await test.engine.enumerate(folder)
        test.plan.isOffline = true
        try test.unlink("a", in: folder)
        _ = try test.catalog.write { try $0.removeFolder("f", in: .root, settle: 0) }
        try test.remote.put("f/new", "new")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["f": .folder, "f/new": document("new")])
        #expect(try await eventually { (try? test.inode("f/new"))?.size == 3 })
    }

    @Test func aWriterAtWorkHoldsItsDocumentBack() async throws {
        try test.remote.put("a", "old")
        try await start()
        let inode = try test.inode("a").id
        test.volume.setWriting(inode, true)
        try test.write(inode, "half")
        try test.save("b", "other")
        #expect(try await eventually { test.remote.read("b") != nil })
        #expect(test.remote.read("a") == Array("old".utf8))
        test.volume.setWriting(inode, false)
        test.engine.changed()
        #expect(try await eventually { test.remote.read("a") == Array("half".utf8) })
    }
}
