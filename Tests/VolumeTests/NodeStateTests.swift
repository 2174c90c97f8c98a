import ContentStore
import Foundation
import ItemCatalog
import Testing
import Trees

@testable import Volume

/// What may not be when a node's lock is given back.
@Suite struct NodeStateTests {
    private let test: TestVolume

    init() throws { test = try TestVolume() }

    /// Open through the page cache, by one handle that writes.
    private static func written(_ store: ContentStore, isWhole: Bool = true) throws -> Node.State {
        let content = try store.open(
            GenerationID(inode: isWhole ? 7 : 8, number: 3), size: isWhole ? 0 : 10, baseSize: isWhole ? 0 : 10,
            present: isWhole ? nil : RangeSet())
        var state = Node.State(version: .current(generation: 3))
        state.open = Node.Open(content: content, handles: 1, writing: Node.Writing(stamp: .none, writers: 1))
        state.wasWritten = true
        return state
    }

    @Test func whatMayBe() throws {
        #expect(Node.State(version: .current(generation: 3)).problem == nil)
        for isWhole in [true, false] {
            var state = try Self.written(test.store, isWhole: isWhole)
            #expect(state.problem == nil)
            // Another reads it still; the mark stays for what may be mapped.
            state.open?.writing?.writers = 0
            #expect(state.problem == nil)
            state.open?.writing = nil
            #expect(state.problem == nil)
        }
        var state = try Self.written(test.store)
        state.open?.mode = .passthrough(backing: 1, wasDirect: false)
        #expect(state.problem == nil)
        state.open?.writing = nil
        var record = try test.catalog.read { try $0.inode(.root) }
        record.generation = 3
        state.version = .past(record)
        #expect(state.problem == nil)
        state.open = nil
        #expect(state.problem == nil)
    }

    @Test func openWithoutHandles() throws {
        var state = try Self.written(test.store)
        state.open?.writing = nil
        state.open?.handles = 0
        #expect(state.problem == "it is open, and has no handles")
    }

    @Test(arguments: [-1, 2]) func moreOrFewerWritersThanHandles(writers: Int) throws {
        var state = try Self.written(test.store)
        state.open?.writing?.writers = writers
        #expect(state.problem == "\(writers) of 1 handles may write")
    }

    @Test func aPastGenerationThatIsWritten() throws {
        var state = try Self.written(test.store)
        var record = try test.catalog.read { try $0.inode(.root) }
        record.generation = 3
        state.version = .past(record)
        #expect(state.problem == "a past generation is being written")
    }

    @Test func aWriterWhoNeverCame() throws {
        var state = try Self.written(test.store)
        state.wasWritten = false
        #expect(state.problem == "it has a writer, but is not marked as written")
    }

    @Test func partOfADocumentPassedThrough() throws {
        var state = try Self.written(test.store, isWhole: false)
        state.open?.mode = .passthrough(backing: 1, wasDirect: false)
        #expect(state.problem == "it is passed through, and not all of its bytes are here")
    }

    @Test func theFileOfAnotherGeneration() throws {
        var state = try Self.written(test.store)
        state.generation = 4
        #expect(state.problem == "it is of generation 4, but its file is of generation 3")
    }

    #if DEBUG
    /// What is wrong is found when the lock is given back, and says which node it is.
    @Test func isCheckedOnUnlock() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let folder = NSTemporaryDirectory() + "node-state-\(UUID().uuidString)"
            let store = try ContentStore(directory: folder)
            let node = Node(id: NodeID(rawValue: 7), inode: InodeID(rawValue: 7), generation: 3)
            var state = try NodeStateTests.written(store)
            try FileManager.default.removeItem(atPath: folder)
            state.wasWritten = false
            node.withLock { $0 = state }
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("inode 7, node 7: it has a writer, but is not marked as written"), "\(said)")
    }
    #endif
}
