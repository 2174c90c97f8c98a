import ContentStore
import FileProvider
import FileProviderTesting
import ItemCatalog
import MountHarness
import Synchronization
import Testing
import Trees

@testable import SyncEngine

/// A large document is copied, hashed and made durable while it is sent.
@Suite(.timeLimit(.minutes(5))) struct OverlappedUploadTests {
    /// A store in memory that looks at what it is sent before it takes it.
    private final class Peeking: ForwardingProvider {
        typealias Look = @Sendable (any ContentSource) async throws(FileProviderError) -> Void
        let base: InMemoryProvider
        private let look: Look

        init(_ base: InMemoryProvider, _ look: @escaping Look) { (self.base, self.look) = (base, look) }

        func createItem(
            _ template: ItemTemplate, contents: (any ContentSource)?
        ) async throws(FileProviderError) -> Item {
            if let contents { try await look(contents) }
            return try await base.createItem(template, contents: contents)
        }

        func itemChanged(
            _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
        ) async throws(FileProviderError) -> Item {
            try await look(contents)
            return try await base.itemChanged(
                identifier, contents: contents, metadata: metadata, baseVersion: baseVersion)
        }
    }

    /// Its copy, hash and sync take longer than the way to the store.
    private static let size = 32_000_000
    /// It reads what it is sent in large pieces: small ones keep the other tests waiting.
    private static var store: FaultInjectingProvider<InMemoryProvider> {
        FaultInjectingProvider(InMemoryProvider(pieceSize: 4 << 20))
    }
    private func text(_ letter: Character) -> String {
        String(decoding: [UInt8](repeating: letter.asciiValue!, count: Int(Self.size)), as: UTF8.self)
    }

    /// Saves it while nothing is sent, until its time stamps show the next change.
    private func save(_ test: TestEngine, _ isNew: Bool) async throws {
        try await test.engine.setPaused(true)
        if isNew { try test.save("a", text("x")) } else { try test.write(try test.inode("a").id, text("x")) }
        try await Task.sleep(for: .milliseconds(50))
        try await test.engine.setPaused(false)
    }

    @Test("the store gets the last byte when the digest is in the catalog", arguments: [false, true])
    func lastByte(isNew: Bool) async throws {
        let catalog = Mutex<Catalog?>(nil)
        let seen = Mutex<[[SentContent]]>([])
        let test = try TestEngine(
            provider: Self.store,
            through: {
                Peeking($0.base) { (contents) async throws(FileProviderError) in
                    guard contents.size == Self.size else { return }
                    let last = try await contents.read(at: contents.size - 1, upTo: 1)
                    #expect(last == Array("x".utf8))
                    let items = catalog.withLock { try? $0?.read { try $0.allPending(limit: 10) } }
                    seen.withLock { $0 += (items ?? []).map(\.sent) }
                }
            })
        catalog.withLock { $0 = test.catalog }
        test.engine.start()
        if !isNew {
            try test.save("a", "before")
            #expect(try await test.engine.sync(timeout: 60).isEmpty)
        }
        try await save(test, isNew)
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.read("a") == Array(text("x").utf8))
        #expect(seen.withLock { $0.map { $0.map(\.size) } } == [[Int64(Self.size)]])
        await test.engine.stop()
    }

    @Test(
        "a document that is changed while it is sent is sent again, and never as a mixture", arguments: [false, true])
    func changedMeanwhile(isNew: Bool) async throws {
        let change = Mutex<(@Sendable () throws -> Void)?>(nil)
        let refusals = Mutex<[FileProviderError.Code]>([])
        let test = try TestEngine(
            provider: Self.store,
            through: {
                Peeking($0.base) { (contents) async throws(FileProviderError) in
                    guard contents.size == Self.size, let change = change.withLock({ $0.take() }) else { return }
                    let first = try await contents.read(at: 0, upTo: 1)
                    #expect(first == Array("x".utf8))
                    do { try change() } catch { Issue.record(error) }
                    do throws(FileProviderError) {
                        _ = try await contents.read(at: contents.size - 1, upTo: 1)
                    } catch {
                        refusals.withLock { $0.append(error.code) }
                        throw error
                    }
                }
            })
        test.engine.start()
        if !isNew {
            try test.save("a", "before")
            #expect(try await test.engine.sync(timeout: 60).isEmpty)
        }
        let after = text("y")
        change.withLock { $0 = { [unowned test] in try test.write(try test.inode("a").id, after) } }
        try await save(test, isNew)
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.read("a") == Array(after.utf8))
        #expect(test.remote.snapshot().keys.sorted() == ["a"])
        #expect(try test.item("a").failure == nil)
        // (The copy may have been complete before the change.)
        #expect(refusals.withLock { $0.allSatisfy { $0 == .cancelled } })
        await test.engine.stop()
    }

    @Test("a provider that never reads the last byte leaves nothing under way")
    func unread() async throws {
        let isRefusing = Mutex(true)
        let test = try TestEngine(
            provider: Self.store,
            through: {
                Peeking($0.base) { (contents) async throws(FileProviderError) in
                    guard contents.size == Self.size, isRefusing.withLock({ exchange(&$0, with: false) }) else {
                        return
                    }
                    _ = try await contents.read(at: 0, upTo: 1)
                    throw FileProviderError(.insufficientQuota, "A test wanted it so.")
                }
            })
        test.engine.start()
        try test.save("a", text("x"))
        #expect(try await eventually { test.remote.read("a") == Array(text("x").utf8) })
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        await test.engine.stop()
    }

    @Test("where the disk is slower than the network, a document is copied and hashed before it is sent")
    func slowDisk() async throws {
        let catalog = Mutex<Catalog?>(nil)
        let seen = Mutex<[Int]>([])
        let test = try TestEngine(
            provider: Self.store,
            through: {
                Peeking($0.base) { _ in
                    let items = catalog.withLock { try? $0?.read { try $0.allPending(limit: 10) } }
                    seen.withLock { $0 += (items ?? []).map(\.sent.count) }
                }
            })
        catalog.withLock { $0 = test.catalog }
        test.engine.uploads.prepareFirst()
        test.engine.start()
        try test.save("a", text("x"))
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.read("a") == Array(text("x").utf8))
        #expect(seen.withLock { $0 } == [1])
        await test.engine.stop()
    }
}
