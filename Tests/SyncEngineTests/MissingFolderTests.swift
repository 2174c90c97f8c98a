import FileProvider
import FileProviderTesting
import ItemCatalog
import Testing
import Trees

@testable import SyncEngine

/// A store without the mounted folder answers for each item that the item is gone.
@Suite("The store does not have the mounted folder", .timeLimit(.minutes(10))) struct MissingFolderTests {
    private let test: TestEngine
    private static let hooks: [Hook] = [
        .providePlaceholder, .enumerateItems, .enumerateChanges, .startProvidingItem, .itemChanged, .createItem,
        .moveItem, .deleteItem, .updateMetadata,
    ]

    init() throws { test = try TestEngine() }

    private func document(_ text: String) -> StoredEntry { .document(Array(text.utf8)) }

    /// A store with four documents, listed here.
    private func begin() async throws {
        for name in ["a", "b", "c", "d"] { try test.remote.put(name, "old \(name)") }
        try await test.engine.enumerate(.root)
        test.engine.start()
        // It lists the folder once more when it begins.
        #expect(try await eventually { test.remote.calls(of: .enumerateItems).count >= 2 })
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
    }

    private func folderGoes() {
        for hook in Self.hooks { test.plan.fail(hook, times: 100_000, with: .noSuchItem) }
    }

    private func end() async throws {
        test.plan.clear()
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(try test.pending().isEmpty)
    }

    @Test func changesWaitUntilItIsBack() async throws {
        try await begin()
        let identifier = try #require(test.remote.item(at: "a")?.identifier)
        folderGoes()
        try test.write(test.inode("a").id, "new a")
        try test.unlink("b")
        try test.rename("c", "moved")
        try test.save("made", "made here")
        for name in ["a", "made"] {
            #expect(try await eventually { try test.item(name).failure != nil }, "\(name)")
            #expect(try test.item(name).failure?.code == "\(FileProviderError.Code.serverUnreachable)")
        }
        #expect(test.engine.client.connection.failure?.code == .serverUnreachable)
        try await end()
        #expect(
            test.remote.snapshot() == [
                "a": document("new a"), "moved": document("old c"), "made": document("made here"),
                "d": document("old d"),
            ])
        #expect(test.remote.item(at: "a")?.identifier == identifier)
        #expect(try test.names() == ["a", "d", "made", "moved"])
    }

    @Test func nothingIsDeletedHere() async throws {
        try await begin()
        folderGoes()
        let client = test.engine.client
        for name in ["a", "b", "c", "d"] {
            let identifier = try #require(try test.item(name).identifier)
            let error = await #expect(throws: FileProviderError.self) {
                try await client.placeholder(for: identifier, at: name)
            }
            #expect(error?.code == .serverUnreachable)
        }
        await #expect(throws: (any Error).self) { try await test.engine.enumerate(.root) }
        #expect(try test.names() == ["a", "b", "c", "d"])
        try await end()
        #expect(try test.names() == ["a", "b", "c", "d"])
    }

    /// The folder is back before we look for it: the answer about the item was given without it.
    @Test(arguments: [Hook.itemChanged, .deleteItem]) func backAtOnce(_ hook: Hook) async throws {
        try await begin()
        test.plan.fail(hook, with: .noSuchItem)
        if hook == .itemChanged {
            try test.write(test.inode("a").id, "new a")
        } else {
            try test.unlink("a")
        }
        #expect(try await eventually { test.plan.remainingFaults(for: hook) == 0 })
        try await end()
        var expected = ["a": document("new a"), "b": document("old b"), "c": document("old c"), "d": document("old d")]
        if hook == .deleteItem { expected["a"] = nil }
        #expect(test.remote.snapshot() == expected)
        #expect(try test.names() == expected.keys.sorted())
    }

    /// What really is gone is made again, or confirmed as deleted.
    @Test func anItemThatIsGone() async throws {
        try await begin()
        // Only the refused changes say so.
        for hook in [Hook.enumerateChanges, .enumerateItems] { test.plan.fail(hook, times: 100_000, with: .busy) }
        try test.remote.remove("a")
        try test.remote.remove("b")
        try test.write(test.inode("a").id, "new a")
        try test.unlink("b")
        #expect(
            try await eventually {
                try test.remote.read("a") == Array("new a".utf8) && test.pending().isEmpty
            })
        try await end()
        #expect(
            test.remote.snapshot() == ["a": document("new a"), "c": document("old c"), "d": document("old d")])
    }

    /// A refusal of the topmost folder is an answer about it, so the folder is there; a failure says nothing.
    @Test(arguments: [FileProviderError.Code.permissionDenied, .invalidName, .busy, .cannotSynchronize])
    func theFolderCannotBeSeen(_ code: FileProviderError.Code) async throws {
        try await begin()
        let identifier = try #require(try test.item("a").identifier)
        let client = test.engine.client
        test.plan.fail(.providePlaceholder, with: .noSuchItem)
        test.plan.fail(.providePlaceholder, with: code)
        let error = await #expect(throws: FileProviderError.self) {
            try await client.placeholder(for: identifier, at: "a")
        }
        #expect(error?.code == ([.busy, .cannotSynchronize].contains(code) ? code : .noSuchItem))
    }

    /// Many answers share a question, which begins after each of them.
    @Test func manyAnswersAskOnce() async throws {
        try await begin()
        let client = test.engine.client
        test.remote.forgetCalls()
        test.plan.latency = .milliseconds(20)
        await withTaskGroup(of: FileProviderError.Code?.self) { group in
            for number in 0..<500 {
                group.addTask {
                    do throws(FileProviderError) {
                        _ = try await client.placeholder(for: ItemIdentifier("never \(number)"), at: nil)
                        return nil
                    } catch { return error.code }
                }
            }
            for await code in group { #expect(code == .noSuchItem) }
        }
        let questions = test.remote.calls(of: .providePlaceholder).filter { $0.identifier == .rootContainer }
        #expect((1..<250).contains(questions.count), "\(questions.count)")
    }
}
