import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import ItemCatalog
import SyncEngine
import Testing
import Trees
import Volume

/// A new version comes from the store while a program has the old one open for writing.
@Suite struct SplitTests {
    private let test: TestVolume

    init() throws { test = try TestVolume(settle: 60) }

    private func copies(_ test: TestVolume) throws -> [String] {
        try test.catalog.read { try $0.children(of: .root, after: 0, limit: 100) }.map(\.name.string)
            .filter { $0.contains("conflicted copy") }
    }

    /// All of it here, and open for writing.
    private func opened(_ test: TestVolume) async throws -> (lookup: Lookup, handle: HandleID) {
        try test.remote.put("a.txt", "old bytes")
        #expect(try await test.contents("a.txt") == "old bytes")
        let lookup = try await test.lookUp("a.txt")
        return (lookup, try test.volume.open(lookup.node, flags: O_RDWR).handle)
    }

    @Test func theWriterGoesOnWithItsOwn() async throws {
        let (old, handle) = try await opened(test)
        try test.remote.put("a.txt", "theirs")
        try await test.refresh()
        let current = try await test.lookUp("a.txt")
        #expect(current.node != old.node && current.attributes.record.size == 6)
        #expect(current.attributes.record.id == old.attributes.record.id)
        #expect(try copies(test) == [])
        // Another inode by now, with no name.
        let kept = try test.volume.attributes(of: old.node).record
        #expect(kept.id != old.attributes.record.id && kept.linkCount == 0 && kept.size == 9)
        #expect(try await test.read(handle) == Array("old bytes".utf8))
        #expect(await errnoOf { _ = try test.volume.open(old.node, flags: O_RDONLY) } == ESTALE)

        try test.write(handle, "OLD")
        let name = try #require(try copies(test).first)
        #expect(try await test.lookUp(name).node == old.node)
        #expect(try await test.contents(name) == "OLD bytes")
        #expect(try await test.contents("a.txt") == "theirs")
        try test.close(handle)
        #expect(try await test.sync().isEmpty)
        #expect(
            test.remote.snapshot() == [
                "a.txt": .document(Array("theirs".utf8)), name: .document(Array("OLD bytes".utf8)),
            ])
    }

    /// That a program has closed its document is known a moment before the kernel lets go of it.
    @Test func theSameBytesOnBothSidesAreNoConflict() async throws {
        let (_, handle) = try await opened(test)
        try test.write(handle, "new bytes")
        try test.volume.flush(handle)
        try test.remote.put("a.txt", "new bytes")
        try await test.refresh()
        #expect(try copies(test).count == 1)
        test.volume.close(handle)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.snapshot() == ["a.txt": .document(Array("new bytes".utf8))])
        #expect(try copies(test) == [])
        #expect(try test.catalog.read { try $0.conflicts() } == [])
        #expect(try await test.contents("a.txt") == "new bytes")
    }

    @Test(arguments: [false, true])
    func aWriterWhoWritesNothingLeavesNoTrace(passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        let (old, handle) = try await opened(test)
        try test.remote.put("a.txt", "theirs")
        try await test.refresh()
        let kept = try test.volume.attributes(of: old.node).record.id
        try test.close(handle)
        test.volume.forget(old.node, count: 10)
        #expect(try copies(test) == [])
        // A process that another test starts has all descriptors for a moment: then the file seems to be mapped.
        #expect(try await eventually { try test.catalog.read { try $0.inodeIfPresent(kept) } == nil })
        #expect(test.store.status(GenerationID(inode: kept.rawValue, number: 1)) == nil)
        #expect(try test.pendingNames() == [])
        #expect(try await test.contents("a.txt") == "theirs")
    }

    @Test func readersOfTheOldVersionKeepReadingIt() async throws {
        let (_, handle) = try await opened(test)
        let reader = try await test.open("a.txt").handle
        try test.remote.put("a.txt", "theirs")
        try await test.refresh()
        try test.write(handle, "OLD")
        // The same file as the writer's, as with two openers of any file.
        #expect(try await test.read(reader) == Array("OLD bytes".utf8))
        test.volume.close(reader)
        try test.close(handle)
        #expect(try copies(test).count == 1)
    }

    /// The store has a new version, and the catalog has split them; the volume has not been told yet.
    private func replaceUnpublished(_ old: Lookup, by text: String = "theirs") throws -> [CatalogChange] {
        let changed = try test.remote.put("a.txt", text)
        let changes = try test.unpublished {
            try $0.mergeItem(changed, defaults: PlaceholderDefaults(uid: 1_000, gid: 1_000))
        }
        let id = old.attributes.record.id
        #expect(changes.contains { if case .split(id, _) = $0 { true } else { false } })
        return changes
    }

    /// The writer closes it before the volume is told; a reader goes on. Nobody's close is left to end the writing.
    @Test func aWriterWhoLeavesInBetweenHoldsNothingBack() async throws {
        let (old, handle) = try await opened(test)
        let reader = try test.volume.open(old.node, flags: O_RDONLY).handle
        try test.write(handle, "OLD")
        try test.volume.flush(handle)
        let changes = try replaceUnpublished(old)
        test.volume.close(handle)
        test.volume.catalogChanged(changes)
        let name = try #require(try copies(test).first)
        let copy = try await test.lookUp(name).attributes.record.id
        #expect(try await eventually { try test.catalog.read { try $0.inode(copy).writing } == nil })
        #expect(try await test.read(reader) == Array("OLD bytes".utf8))
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read(name) == Array("OLD bytes".utf8))
        test.volume.close(reader)
    }

    /// Others come by the name before the volume is told: they have the store's versions, and every writer keeps his own.
    @Test(arguments: [false, true]) func othersWhoComeInBetweenTakeNothingAway(isReplacedTwice: Bool) async throws {
        let (old, first) = try await opened(test)
        var unpublished = [try replaceUnpublished(old)]
        let second = try await test.open("a.txt", O_RDWR).handle
        #expect(try await test.read(second) == Array("theirs".utf8))
        try test.write(second, "THEIRS and mine")
        if isReplacedTwice {
            unpublished.append(try replaceUnpublished(old, by: "their next"))
            #expect(try await test.contents("a.txt") == "their next")
        }
        for changes in unpublished { test.volume.catalogChanged(changes) }
        try test.write(first, "OLD")
        try test.write(second, "SECOND")
        try test.close(first)
        try test.close(second)
        #expect(try await test.sync().isEmpty)
        let kept = isReplacedTwice ? ["OLD bytes", "SECOND and mine"] : ["OLD bytes"]
        var found: [String] = []
        for name in try copies(test) {
            found.append(String(decoding: try #require(test.remote.read(name)), as: UTF8.self))
        }
        #expect(found.sorted() == kept)
        #expect(test.remote.read("a.txt") == Array((isReplacedTwice ? "their next" : "SECOND and mine").utf8))
    }

    /// The same, when the first has closed it by then: the split bytes are his, not those of who writes the store's version.
    @Test func whoWritesTheStoresVersionIsNotTheOneWhoLeft() async throws {
        let (old, first) = try await opened(test)
        try test.write(first, "OLD")
        try test.volume.flush(first)
        let changes = try replaceUnpublished(old)
        let second = try await test.open("a.txt", O_RDWR).handle
        #expect(try await test.read(second) == Array("theirs".utf8))
        try test.write(second, "SECOND")
        test.volume.close(first)
        test.volume.catalogChanged(changes)
        try test.write(second, "MINE")
        try test.close(second)
        #expect(try await test.sync().isEmpty)
        let name = try #require(try copies(test).first)
        #expect(try copies(test).count == 1 && test.remote.read(name) == Array("OLD bytes".utf8))
        #expect(test.remote.read("a.txt") == Array("MINEND".utf8))
    }

    /// The kernel lets go of a writer's inode that has no name, and a mapping is all that is left of him.
    @Test func whatOnlyAMappingHoldsIsKept() async throws {
        let passing = try TestVolume(passthrough: true, settle: 0.02)
        let (old, handle) = try await opened(passing)
        let mapping = try passing.backing.held()
        defer { Glibc.close(mapping) }
        try passing.remote.put("a.txt", "theirs")
        try await passing.refresh()
        try passing.close(handle)
        passing.volume.forget(old.node, count: 10)
        #expect(pwrite(mapping, "OLD", 3, 0) == 3)
        #expect(try await eventually { try !copies(passing).isEmpty })
        let name = try #require(try copies(passing).first)
        #expect(try await passing.contents(name) == "OLD bytes")
        #expect(try await passing.contents("a.txt") == "theirs")
    }

    enum Call: CaseIterable { case write, truncate, allocate, flush }

    /// The call waits until the volume is told.
    @Test(arguments: Call.allCases)
    func aCallThatComesInBetweenIsMadeAgain(call: Call) async throws {
        let (old, handle) = try await opened(test)
        if call == .flush { try test.write(handle, "OLD") }
        let id = old.attributes.record.id
        let item = try #require(try test.catalog.read { try $0.item(of: id) })
        let changes = try replaceUnpublished(old)
        let (volume, node) = (test.volume, old.node)
        let made = Flag()
        let caller = Thread {
            do {
                switch call {
                case .write: try Array("OLD".utf8).withUnsafeBytes { try volume.write(handle, $0, at: 0) }
                case .truncate:
                    _ = try volume.setAttributes(node, to: AttributeRequest(attributes: AttributeChange(), size: 3))
                case .allocate: try volume.allocate(handle, mode: 0, offset: 0, length: 50)
                case .flush: try volume.flush(handle)
                }
                made.finish(nil)
            } catch { made.finish(error) }
        }
        caller.start()
        try await Task.sleep(for: .milliseconds(60))
        #expect(!made.isFinished)
        test.volume.catalogChanged(changes)
        #expect(try await eventually { made.isFinished })
        #expect(made.error == nil)

        try test.close(handle)
        let name = try #require(try copies(test).first)
        let expected: [UInt8] =
            switch call {
            case .write, .flush: Array("OLD bytes".utf8)
            case .truncate: Array("old".utf8)
            case .allocate: Array("old bytes".utf8) + [UInt8](repeating: 0, count: 41)
            }
        #expect(try await test.contents(name) == String(decoding: expected, as: UTF8.self))
        #expect(try await test.contents("a.txt") == "theirs")
        #expect(try test.catalog.read { try $0.item(item.id) }?.contentRevision == 0)
        #expect(try copies(test).count == 1)
    }

    // MARK: Killed

    /// What a writer changed of the old version is found, and gets a name, before anything without one is cleared.
    @Test func whatItWrotePastUsSurvivesTheDaemon() async throws {
        let passing = try TestVolume(passthrough: true, settle: 60)
        let (old, _) = try await opened(passing)
        let descriptor = try #require(passing.backing.registered.values.first)
        try passing.remote.put("a.txt", "theirs")
        try await passing.refresh()
        let kept = try passing.volume.attributes(of: old.node).record.id
        #expect(pwrite(descriptor, "OLD", 3, 0) == 3)
        #expect(try copies(passing) == [])
        let next = try await passing.killed()
        let name = try #require(try copies(next).first)
        #expect(try await next.lookUp(name).attributes.record.id == kept)
        #expect(try await next.contents(name) == "OLD bytes")
        #expect(try await next.contents("a.txt") == "theirs")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read(name) == Array("OLD bytes".utf8))
    }

    @Test(arguments: [false, true])
    func whatItOnlyHadOpenIsClearedAway(passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        let (old, _) = try await opened(test)
        try test.remote.put("a.txt", "theirs")
        try await test.refresh()
        let kept = try test.volume.attributes(of: old.node).record.id
        let next = try await test.killed()
        #expect(try copies(next) == [])
        #expect(try next.catalog.read { try $0.inodeIfPresent(kept) } == nil)
        #expect(next.store.status(GenerationID(inode: kept.rawValue, number: 1)) == nil)
        #expect(try await next.contents("a.txt") == "theirs")
    }
}

private final class Flag: @unchecked Sendable {
    // All of it is guarded by the lock.
    private let lock = NSLock()
    private var result: (any Error)??
    var isFinished: Bool { lock.withLock { result != nil } }
    var error: (any Error)? { lock.withLock { result ?? nil } }
    func finish(_ error: (any Error)?) { lock.withLock { result = .some(error) } }
}
