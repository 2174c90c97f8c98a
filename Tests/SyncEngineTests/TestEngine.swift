import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Logging
import Synchronization
import Trees

@testable import SyncEngine

/// An engine over a store in memory, without a volume.
final class TestEngine: Sendable {
    let directory: String
    let provider: FaultInjectingProvider<InMemoryProvider>
    let catalog: Catalog
    let store: ContentStore
    let engine: SyncEngine
    let volume = FakeVolume()

    var remote: InMemoryProvider { provider.base }
    var plan: FaultPlan { provider.plan }

    init(
        pageSize: Int = 100, readTimeout: Double = 5, firstRetry: Double = 0.05, stopProviding: Double = 0.05,
        cache: CacheLimits = .none, clock: (any EngineClock)? = nil,
        provider: FaultInjectingProvider<InMemoryProvider>? = nil,
        through: (FaultInjectingProvider<InMemoryProvider>) -> any FileProviderExtension = { $0 },
        directory: String? = nil
    ) throws {
        self.directory = directory ?? NSTemporaryDirectory() + "engine-\(UUID().uuidString)"
        let directory = self.directory
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        self.provider =
            provider ?? FaultInjectingProvider(InMemoryProvider(pageSize: pageSize, pieceSize: 4_096))
        let clock = clock ?? MachineClock()
        catalog = try Catalog(
            path: directory + "/catalog", domain: "test:", owner: (1_000, 1_000), date: { clock.date })
        store = try ContentStore(directory: directory + "/content")
        var times = SyncTimes()
        times.firstLook = 0
        times.settle = 0
        times.readTimeout = readTimeout
        times.firstRetry = firstRetry
        times.stopProviding = stopProviding
        engine = SyncEngine(
            provider: through(self.provider), catalog: catalog, store: store, times: times,
            defaults: PlaceholderDefaults(uid: 1_000, gid: 1_000), cache: cache,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, clock: clock)
        engine.mount.attach(volume)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    // MARK: Programs

    func inode(_ path: String) throws -> InodeRecord {
        try catalog.read { try $0.resolve(path.split(separator: "/").map { Filename(String($0)) }) }
    }

    func item(_ path: String) throws -> ItemRecord {
        let inode = try inode(path)
        return try catalog.read { try $0.item(of: inode.id) }!
    }

    func names(_ folder: InodeID = .root) throws -> [String] {
        try catalog.read { try $0.children(of: folder, after: 0, limit: 1_000) }.map(\.name.string).sorted()
    }

    @discardableResult
    func makeFolder(_ name: Filename, in folder: InodeID = .root) throws -> InodeID {
        try catalog.write {
            try $0.create(NewFile(kind: .folder, mode: 0o755, uid: 0, gid: 0), in: folder, named: name, settle: 0).id
        }
    }

    @discardableResult
    func save(_ name: Filename, _ text: String, in folder: InodeID = .root) throws -> InodeID {
        let inode = try catalog.write {
            try $0.create(NewFile(kind: .document, mode: 0o644, uid: 0, gid: 0), in: folder, named: name, settle: 0)
        }
        try write(inode.id, text)
        return inode.id
    }

    /// Replaces all of a document's bytes.
    func write(_ inode: InodeID, _ text: String) throws {
        let bytes = Array(text.utf8)
        let defaults = engine.mount.defaults
        let record = try catalog.write { writer in
            let record = try writer.inode(inode)
            try writer.beginWriting(inode, generation: record.generation, mark: .modified)
            return try writer.truncate(inode, to: 0, baseSize: 0, extents: nil, mark: .modified, settle: 0)
        }
        let content = try store.open(
            GenerationID(inode: inode.rawValue, number: record.generation), size: 0, baseSize: 0, present: nil)
        try content.truncate(to: 0)
        _ = try bytes.withUnsafeBytes { try content.write($0, at: 0) }
        try catalog.write { writer in
            try writer.recordWritten(inode, size: Int64(bytes.count), modified: .now, mark: nil, settle: 0)
            try writer.endWriting(inode, settle: 0, defaults: defaults)
        }
        engine.changed()
    }

    func rename(_ name: Filename, _ newName: Filename, from: InodeID = .root, to: InodeID = .root) throws {
        _ = try catalog.write {
            try $0.rename(name, in: from, to: newName, in: to, noReplace: false, settle: 0)
        }
        engine.changed()
    }

    func unlink(_ name: Filename, in folder: InodeID = .root) throws {
        _ = try catalog.write { try $0.unlink(name, in: folder, settle: 0) }
        engine.changed()
    }

    func pending() throws -> [ItemRecord] { try catalog.read { try $0.allPending(limit: 100) } }

    // MARK: Downloads

    /// The content file of a document, and what a download of it needs.
    func download(_ path: String) throws -> (ContentFile, DownloadTarget) {
        let (inode, item) = (try inode(path), try item(path))
        let content = try store.open(
            GenerationID(inode: inode.id.rawValue, number: inode.generation), size: inode.size,
            baseSize: inode.baseSize, present: inode.extents)
        let target = DownloadTarget(
            inode: inode.id, identifier: item.identifier!, version: item.baseVersion!.content, name: path)
        return (content, target)
    }
}

/// Says what tests want to be open, and keeps what it is told.
final class FakeVolume: VolumeObserving {
    private let state = Mutex((open: Set<InodeID>(), writing: Set<InodeID>(), changes: [CatalogChange]()))
    var changes: [CatalogChange] { state.withLock { $0.changes } }

    func setOpen(_ inode: InodeID, _ isOpen: Bool) {
        state.withLock { state in
            if isOpen { state.open.insert(inode) } else { state.open.remove(inode) }
        }
    }
    func setWriting(_ inode: InodeID, _ isWriting: Bool) {
        state.withLock { state in
            if isWriting { state.writing.insert(inode) } else { state.writing.remove(inode) }
        }
    }
    func catalogChanged(_ changes: [CatalogChange]) { state.withLock { $0.changes += changes } }
    func isOpen(_ inode: InodeID) -> Bool { state.withLock { $0.open.contains(inode) } }
    func isBeingWritten(_ inode: InodeID) -> Bool { state.withLock { $0.writing.contains(inode) } }
}

/// Waits for something that comes in the background; false after a minute.
func eventually(_ condition: () throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
        let begun = ContinuousClock.now
        if try condition() { return true }
        if .now > deadline { return false }
        // (Leave the processors to the tests beside this one.)
        try await Task.sleep(for: max(.milliseconds(5), min(begun.duration(to: .now) * 3, .milliseconds(100))))
    }
}
