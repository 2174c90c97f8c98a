import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Testing
import Trees

@testable import SyncEngine

/// Moves, and moves against moves.
@Suite(.timeLimit(.minutes(10))) struct MoveTests {
    private let test: TestEngine

    init() throws { test = try TestEngine() }

    private func start() async throws {
        try await test.engine.enumerate(.root)
        test.engine.start()
    }

    private func document(_ text: String) -> StoredEntry { .document(Array(text.utf8)) }

    @Test func twoNamesAreSwapped() async throws {
        let a = try test.remote.put("a", "A")
        let b = try test.remote.put("b", "B")
        try await start()
        test.plan.isOffline = true
        try test.rename("a", "t")
        try test.rename("b", "a")
        try test.rename("t", "b")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["a": document("B"), "b": document("A")])
        #expect(test.remote.item(at: "b")?.identifier == a.identifier)
        #expect(test.remote.item(at: "a")?.identifier == b.identifier)
        #expect(try test.names() == ["a", "b"])
        #expect(test.remote.calls(of: .itemChanged).isEmpty)
        #expect(test.remote.calls(of: .deleteItem).isEmpty)
    }

    @Test func aMoveOverAnotherDocumentDeletesThatOne() async throws {
        let a = try test.remote.put("a", "A")
        try test.remote.put("b", "B")
        try await start()
        try test.rename("a", "b")
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["b": document("A")])
        #expect(test.remote.item(at: "b")?.identifier == a.identifier)
    }

    @Test func aFolderMovesWithWhatIsInIt() async throws {
        try test.remote.put("f/a", "A")
        try test.remote.mkdir("g")
        try await start()
        try test.rename("f", "h", to: try test.inode("g").id)
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["g": .folder, "g/h": .folder, "g/h/a": document("A")])
        #expect(test.remote.calls(of: .moveItem).count == 1)
    }

    /// In between a provider would look for what is in a folder where it is not any more.
    @Test(arguments: [Hook.moveItem, .deleteItem, .itemChanged, .createItem])
    func aFolderMovesWhenNothingInItIsUnderWay(first: Hook) async throws {
        for path in ["f/g/a", "f/g/b", "f/g/x", "z"] { try test.remote.put(path, path) }
        try await test.engine.enumerate(.root)
        let folder = try test.inode("f").id
        try await test.engine.enumerate(folder)
        let inner = try test.inode("f/g").id
        try await test.engine.enumerate(inner)
        let changed = try test.inode("f/g/b").id
        test.engine.start()
        let hooks = [first] + [Hook.moveItem, .deleteItem, .itemChanged, .createItem].filter { $0 != first }
        let gate = Gate()
        test.plan.inject(.hang(gate), into: first)
        for hook in hooks {
            switch hook {
            case .moveItem: try test.rename("f", "h")
            case .deleteItem: try test.unlink("a", in: inner)
            case .itemChanged: try test.write(changed, "changed")
            default: try test.save("c", "C", in: inner)
            }
            test.engine.changed()
            if hook == first { #expect(try await eventually { test.plan.remainingFaults(for: first) == 0 }) }
        }
        // What is elsewhere does not wait.
        try test.unlink("z")
        #expect(try await eventually { test.remote.item(at: "z") == nil })
        try await Task.sleep(for: .milliseconds(100))
        #expect(test.remote.item(at: "f") != nil)
        if first == .moveItem {
            #expect(test.remote.read("f/g/a") != nil && test.remote.read("f/g/b") == Array("f/g/b".utf8))
            #expect(test.remote.item(at: "f/g/c") == nil)
        }
        gate.open()
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        // And the folder's turn came before that of what came after it.
        let calls = test.remote.calls.map(\.hook).filter { [.moveItem, .itemChanged, .createItem].contains($0) }
        #expect(calls.first { first == .moveItem || $0 != first } == .moveItem)
        #expect(
            test.remote.snapshot() == [
                "h": .folder, "h/g": .folder, "h/g/b": document("changed"), "h/g/c": document("C"),
                "h/g/x": document("f/g/x"),
            ])
    }

    /// What is sent for hours holds up its folder alone: the rest goes on under the name that the store knows.
    @Test func aLongUploadHoldsUpOnlyItsFolder() async throws {
        for path in ["f/a", "f/b"] { try test.remote.put(path, path) }
        try await test.engine.enumerate(.root)
        let folder = try test.inode("f").id
        try await test.engine.enumerate(folder)
        let (large, small) = (try test.inode("f/a").id, try test.inode("f/b").id)
        test.engine.start()
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .itemChanged)
        let text = String(repeating: "large ", count: 400_000)
        try test.write(large, text)
        test.engine.changed()
        #expect(try await eventually { test.plan.remainingFaults(for: .itemChanged) == 0 })
        try test.rename("f", "h")
        try await Task.sleep(for: .milliseconds(100))
        try test.write(small, "changed")
        test.engine.changed()
        #expect(try await eventually { test.remote.read("f/b") == Array("changed".utf8) })
        gate.open()
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["h": .folder, "h/a": document(text), "h/b": document("changed")])
    }

    /// A store that finds its items by their paths has what is in a folder at none of the two for a moment.
    @Test func whatTheStoreDoesNotFindWhileItsFolderMovesIsNotGone() async throws {
        try test.remote.put("f/g/a", "text")
        try await test.engine.enumerate(.root)
        let folder = try test.inode("f").id
        try await test.engine.enumerate(folder)
        try await test.engine.enumerate(try test.inode("f/g").id)
        let (content, target) = try test.download("f/g/a")
        test.engine.start()
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .moveItem)
        try test.rename("f", "h")
        #expect(try await eventually { test.plan.remainingFaults(for: .moveItem) == 0 })
        // Asked for by itself, and by a listing that misses it.
        let missing = Fault.error(FileProviderError(.noSuchItem, "nothing there"))
        for alone in [true, false] {
            test.plan.inject(missing, into: .providePlaceholder)
            let refresh = RemoteRefresh(
                mount: test.engine.mount, client: test.engine.client, remote: test.engine.remote, fetcher: nil)
            if alone { await refresh.refresh(target.identifier) } else { await refresh.refresh([target.identifier]) }
            #expect(test.plan.remainingFaults(for: .providePlaceholder) == 0)
            #expect(try test.inode("h/g/a").linkCount == 1)
        }
        // And to be read.
        test.plan.inject(missing, into: .startProvidingItem)
        let range = 0..<content.baseSize
        try await test.engine.downloader.provide(range, of: content, for: target)
        #expect(test.plan.remainingFaults(for: .startProvidingItem) == 0)
        #expect(content.missing(in: range).isEmpty)
        gate.open()
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["h": .folder, "h/g": .folder, "h/g/a": document("text")])
        #expect(try test.inode("h/g/a").linkCount == 1)
        // When nothing moves, one such answer is not enough: the store may have been away for a moment.
        test.plan.inject(missing, into: .providePlaceholder)
        await RemoteRefresh(
            mount: test.engine.mount, client: test.engine.client, remote: test.engine.remote, fetcher: nil
        ).refresh(target.identifier)
        #expect(try test.inode("h/g/a").linkCount == 1)
        try test.remote.remove("h/g/a")
        await RemoteRefresh(
            mount: test.engine.mount, client: test.engine.client, remote: test.engine.remote, fetcher: nil
        ).refresh(target.identifier)
        #expect(throws: CatalogError.self) { try test.inode("h/g/a") }
    }

    @Test
    func aFolderAndWhatIsInItChangePlaces() async throws {
        try test.remote.put("x/y/a", "A")
        try await start()
        let x = try test.inode("x").id
        try await test.engine.enumerate(x)
        let y = try test.inode("x/y").id
        test.plan.isOffline = true
        try test.rename("y", "y", from: x)
        try test.rename("x", "x", to: y)
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["y": .folder, "y/x": .folder, "y/a": document("A")])
    }

    // These are made before the queue runs: it must not see what lies between.

    /// `mv f/d t; rmdir f; mv t f`
    @Test
    func aDocumentTakesTheNameOfTheFolderItWasIn() async throws {
        try test.remote.put("f/d", "D")
        try await test.engine.enumerate(.root)
        let folder = try test.inode("f").id
        try await test.engine.enumerate(folder)
        try test.rename("d", "t", from: folder)
        _ = try test.catalog.write { try $0.removeFolder("f", in: .root, settle: 0) }
        try test.rename("t", "f")
        test.engine.start()
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["f": document("D")])
    }

    /// `mkdir n; mv b n/b; mv n b`
    @Test
    func aFolderTakesTheNameOfWhatWasMovedIntoIt() async throws {
        try test.remote.put("b", "B")
        try await test.engine.enumerate(.root)
        let folder = try test.makeFolder("n")
        try test.rename("b", "b", to: folder)
        try test.rename("n", "b")
        test.engine.start()
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["b": .folder, "b/b": document("B")])
    }

    @Test func aRenameHereBeatsARenameThere() async throws {
        try test.remote.put("a", "A")
        try await start()
        test.plan.isOffline = true
        try test.rename("a", "mine")
        _ = try test.remote.rename("a", to: "theirs")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["mine": document("A")])
        #expect(try test.names() == ["mine"])
    }

    @Test func anEditedDocumentRenamedOnBothSidesIsSent() async throws {
        try test.remote.put("a", "A")
        try await start()
        test.plan.isOffline = true
        try test.write(try test.inode("a").id, "work")
        try test.rename("a", "mine")
        _ = try test.remote.rename("a", to: "theirs")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).map(\.failure?.message) == [])
        #expect(test.remote.snapshot() == ["mine": document("work")])
    }

    @Test func aMovedDocumentThatWasEditedThereIsMovedAndNew() async throws {
        try test.remote.put("a", "A")
        try await start()
        test.plan.isOffline = true
        try test.rename("a", "b")
        try test.remote.put("a", "newer")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["b": document("newer")])
        #expect(try await eventually { try test.inode("b").size == 5 })
    }

    @Test func aMoveOntoANameTakenThereGivesWay() async throws {
        try test.remote.put("a", "A")
        try await start()
        test.plan.isOffline = true
        try test.rename("a", "b")
        try test.remote.put("b", "B")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        let stored = test.remote.snapshot()
        #expect(stored["b"] == document("B"))
        #expect(stored.count == 2 && stored.values.contains(document("A")))
        #expect(try await eventually { try test.names() == stored.keys.sorted() })
    }

    @Test func aModeReachesTheStoreAlsoAfterARenameThere() async throws {
        try test.remote.put("a", "A")
        try await start()
        test.plan.isOffline = true
        _ = try test.catalog.write {
            try $0.setAttributes(try $0.child(of: .root, named: "a")!.id, to: AttributeChange(mode: 0o600), settle: 0)
        }
        _ = try test.remote.rename("a", to: "b")
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).map(\.failure?.message) == [])
        #expect(test.remote.item(at: "b")?.posixPermissions == 0o600)
    }
}
