import FileProvider
import FileProviderTesting
import ItemCatalog
import Testing
import Trees

@testable import SyncEngine

/// The store made something, and its reply was lost; here it is moved or deleted before that is known.
@Suite("Creations with a lost reply", .timeLimit(.minutes(10))) struct LostCreationTests {
    private let test: TestEngine

    init() throws { test = try TestEngine() }

    private func document(_ text: String) -> StoredEntry { .document(Array(text.utf8)) }

    /// What `make` makes is in the store, and nobody here knows; uploads are paused.
    ///
    /// - Parameter silently: until ``end()`` the store says nothing of what is in it.
    private func lose(silently: Bool = false, _ make: () throws -> Void) async throws {
        if test.remote.calls(of: .enumerateItems).isEmpty {
            try await test.engine.enumerate(.root)
            test.engine.start()
        }
        // Nor does a change that the store tells of say so, nor a listing for it.
        test.plan.fail(.enumerateChanges, times: 100_000, with: .busy)
        test.plan.fail(.enumerateItems, times: 100_000, with: .busy)
        test.plan.inject(.lostReply, into: .createItem)
        test.plan.fail(.createItem, times: 100_000, with: .serverUnreachable)
        try make()
        test.engine.changed()
        #expect(try await eventually { try test.pending().contains { $0.identifier == nil && $0.failure != nil } })
        try await test.engine.setPaused(true)
        if silently { test.plan.clear(.createItem) } else { test.plan.clear() }
    }

    /// What is joined may be a question that failed before the store was itself again.
    private func list() async throws {
        do { try await test.engine.enumerate(.root) } catch { try await test.engine.enumerate(.root) }
    }

    private func end() async throws {
        test.plan.clear()
        try await test.engine.setPaused(false)
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(try test.pending().isEmpty)
    }

    private func makeLink(_ name: Filename, to target: String) throws {
        _ = try test.catalog.write {
            try $0.create(
                NewFile(kind: .symbolicLink(target: Array(target.utf8)), mode: 0o777, uid: 0, gid: 0), in: .root,
                named: name, settle: 0)
        }
    }

    /// As the volume does it: a folder that the store has told of meanwhile is listed first.
    private func removeFolder(_ name: Filename, in folder: InodeID = .root) async throws {
        while true {
            do throws(CatalogError) {
                _ = try test.catalog.write { try $0.removeFolder(name, in: folder, settle: 0) }
                return test.engine.changed()
            } catch {
                guard case .notEnumerated(let unknown) = error.code else { throw error }
                try await test.engine.enumerate(unknown)
            }
        }
    }

    @Test func aDeletedDocumentDoesNotComeBack() async throws {
        try await lose { try test.save("a", "text") }
        #expect(test.remote.snapshot() == ["a": document("text")])
        try test.unlink("a")
        // A person sees it nowhere, although the store tells of it.
        try await list()
        #expect(try test.names().isEmpty)
        #expect(try test.engine.pending().count == 1)
        try await end()
        #expect(test.remote.snapshot().isEmpty)
        #expect(try test.names().isEmpty)
    }

    @Test func aRenamedDocumentIsRenamedThere() async throws {
        try await lose { try test.save("a", "text") }
        try test.rename("a", "b")
        try await list()
        #expect(try test.names() == ["b"])
        let identifier = test.remote.item(at: "a")?.identifier
        try await end()
        #expect(test.remote.snapshot() == ["b": document("text")])
        #expect(test.remote.item(at: "b")?.identifier == identifier)
        #expect(test.remote.calls(of: .createItem).count == 1)
        #expect(try test.names() == ["b"])
    }

    @Test func whatWasWrittenSinceIsSent() async throws {
        try await lose { try test.save("a", "text") }
        try test.rename("a", "b")
        try test.write(try test.inode("b").id, "more")
        try await end()
        #expect(test.remote.snapshot() == ["b": document("more")])
    }

    @Test func aFolderGoes() async throws {
        try await lose { try test.makeFolder("f") }
        try await removeFolder("f")
        try await list()
        #expect(try test.names().isEmpty)
        try await end()
        #expect(test.remote.snapshot().isEmpty)
    }

    @Test func aFolderMovesWithWhatIsInIt() async throws {
        try await lose { try test.makeFolder("f") }
        try test.rename("f", "g")
        try test.save("a", "text", in: try test.inode("g").id)
        try await end()
        #expect(test.remote.snapshot() == ["g": .folder, "g/a": document("text")])
    }

    /// It was others who made a folder of that name, perhaps: what is in it stays.
    @Test func aFolderInWhichSomebodyPutSomethingStays() async throws {
        try await lose(silently: true) { try test.makeFolder("f") }
        try test.remote.put("f/theirs", "theirs")
        try await removeFolder("f")
        try await end()
        try await list()
        #expect(test.remote.snapshot() == ["f": .folder, "f/theirs": document("theirs")])
        #expect(try test.names() == ["f"])
    }

    @Test func aLinkGoes() async throws {
        try await lose { try makeLink("l", to: "target") }
        try test.unlink("l")
        try await end()
        #expect(test.remote.snapshot().isEmpty)
    }

    @Test func whatSomebodyElseHasPutThereStays() async throws {
        try await lose { try test.save("a", "text") }
        try test.remote.put("a", "them")
        try test.unlink("a")
        try await end()
        try await list()
        #expect(test.remote.snapshot() == ["a": document("them")])
        #expect(try test.names() == ["a"])
    }

    @Test func theNameIsTakenAgain() async throws {
        try await lose { try test.save("a", "first") }
        try test.unlink("a")
        try test.save("a", "second")
        try await end()
        #expect(test.remote.snapshot() == ["a": document("second")])
        #expect(try test.names() == ["a"])
    }

    /// As a backup, which no store gets; unless it has it already.
    @Test(arguments: [false, true])
    func itGetsANameThatStaysHere(isMade: Bool) async throws {
        if isMade {
            try await lose { try test.save("a", "first") }
        } else {
            try await list()
            test.engine.start()
            test.plan.isOffline = true
            try test.save("a", "first")
            #expect(try await eventually { try test.pending().contains { $0.failure != nil } })
        }
        try test.rename("a", "a.bak~")
        try test.save("a", "second")
        test.plan.isOffline = false
        try await end()
        let backup = isMade ? ["a.bak~": document("first")] : [:]
        #expect(test.remote.snapshot() == backup.merging(["a": document("second")]) { $1 })
        #expect(try test.names() == ["a", "a.bak~"])
    }

    /// `mv x y; mkdir x; mv y x/`: the folder waits for what may have its name, and that for nothing.
    @Test func aFolderTakesItsNameAndItGoesIn() async throws {
        try await lose { try test.save("x", "text") }
        try test.rename("x", "y")
        let folder = try test.makeFolder("x")
        try test.rename("y", "y", to: folder)
        try await end()
        #expect(test.remote.snapshot() == ["x": .folder, "x/y": document("text")])
    }

    @Test func itsFolderIsDeletedToo() async throws {
        try test.remote.mkdir("f")
        try await list()
        let folder = try test.inode("f").id
        try await test.engine.enumerate(folder)
        test.engine.start()
        try await lose { try test.save("a", "text", in: folder) }
        try test.unlink("a", in: folder)
        try await removeFolder("f")
        try await end()
        #expect(test.remote.snapshot().isEmpty)
        #expect(try test.names().isEmpty)
    }

    /// It was removed or renamed between the planning of the step and the step.
    @Test func itIsNotAskedForWhereItIsNoMore() async throws {
        try test.makeFolder("f")
        let item = try test.item("f")
        let place = try #require(item.local)
        #expect(try test.catalog.write { try $0.recordAttempt(item.id, at: place) })
        #expect(try test.item("f").attempted == place)
        try test.rename("f", "g")
        #expect(try !test.catalog.write { try $0.recordAttempt(item.id, at: place) })
        try await removeFolder("g")
        #expect(try !test.catalog.write { try $0.recordAttempt(item.id, at: place) })
        #expect(try test.catalog.read { try $0.item(item.id) }?.isLost == true)
    }

    /// It had not been made: nothing is asked of the store but its listing.
    @Test func whatWasNotMadeIsForgotten() async throws {
        try await list()
        test.engine.start()
        test.plan.fail(.createItem, times: 100_000, with: .serverUnreachable)
        try test.save("a", "text")
        #expect(try await eventually { try test.pending().contains { $0.failure != nil } })
        try test.unlink("a")
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(try await eventually { try test.pending().isEmpty })
        #expect(test.remote.calls(of: .deleteItem).isEmpty)
    }

    /// The daemon was killed: nothing of it is in memory.
    @Test func itIsKnownAfterARestart() async throws {
        try await lose { try test.save("a", "text") }
        await test.engine.stop()
        let next = try TestEngine(provider: test.provider, directory: test.directory)
        // Paused, over the restart as well.
        try next.unlink("a")
        try await next.engine.enumerate(.root)
        #expect(try next.names().isEmpty)
        next.engine.start()
        try await next.engine.setPaused(false)
        #expect(try await next.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot().isEmpty)
        await next.engine.stop()
    }

    /// And killed once more when it had tried again, with other contents: what the first attempt made is known all the same.
    @Test func whatAnEarlierDaemonSentIsKnown() async throws {
        try await lose { try test.save("a", "text") }
        await test.engine.stop()
        let next = try TestEngine(provider: test.provider, directory: test.directory)
        try next.write(try next.inode("a").id, "more")
        next.engine.start()
        test.plan.fail(.createItem, times: 100_000, with: .serverUnreachable)
        try await next.engine.setPaused(false)
        let first = try #require(try next.pending().first).sent
        #expect(try await eventually { try next.pending().first?.sent.count == first.count + 1 })
        await next.engine.stop()
        test.plan.clear()
        let last = try TestEngine(provider: test.provider, directory: test.directory)
        last.engine.start()
        #expect(try await last.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot() == ["a": document("more")])
        #expect(try last.names() == ["a"])
        await last.engine.stop()
    }
}
