import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import ItemCatalog
import Logging
import SyncEngine
import Synchronization
import Trees

@testable import Volume

/// Keeps what the kernel would be told to forget.
final class RecordingKernel: KernelNotifying {
    enum Event: Equatable {
        case entry(NodeID, Filename)
        case expiry(NodeID, Filename)
        case attributes(NodeID)
        case contents(NodeID)
        case pages(NodeID, Range<Int64>)
    }
    private let recorded = Mutex<[Event]>([])
    private let dropping = Mutex<[@Sendable () -> Void]>([])
    var events: [Event] { recorded.withLock { $0 } }
    func forgetEvents() { recorded.withLock { $0 = [] } }

    func invalidateEntry(in folder: NodeID, name: Filename) { recorded.withLock { $0.append(.entry(folder, name)) } }
    func expireEntry(in folder: NodeID, name: Filename) { recorded.withLock { $0.append(.expiry(folder, name)) } }
    func invalidateAttributes(of node: NodeID) { recorded.withLock { $0.append(.attributes(node)) } }
    func invalidateContents(of node: NodeID) { recorded.withLock { $0.append(.contents(node)) } }
    func invalidateContents(of node: NodeID, range: Range<Int64>, then: @escaping @Sendable () -> Void) {
        recorded.withLock { $0.append(.pages(node, range)) }
        dropping.withLock { $0.append(then) }
    }

    /// It drops the pages that it was told to.
    func drop() {
        let callbacks = dropping.withLock { dropping in
            defer { dropping = [] }
            return dropping
        }
        for then in callbacks { then() }
    }
}

/// Gives out backing ids, and keeps account of them.
final class RecordingBacking: BackingRegistering {
    private struct State {
        var isAllowed: Bool
        var next: Int32 = 100
        var descriptors: [Int32: Int32] = [:]
        var registrations = 0
        var leastForReaders: Int64 = 0
    }
    private let state: Mutex<State>
    init(isAllowed: Bool) { state = Mutex(State(isAllowed: isAllowed)) }

    /// Backing ids that are registered now, with their descriptors.
    var registered: [Int32: Int32] { state.withLock { $0.descriptors } }
    var registrations: Int { state.withLock { $0.registrations } }

    func register(_ descriptor: Int32) -> Int32? {
        state.withLock { state in
            guard state.isAllowed else { return nil }
            state.next += 1
            state.registrations += 1
            state.descriptors[state.next] = descriptor
            return state.next
        }
    }

    func unregister(_ backing: Int32) { state.withLock { _ = $0.descriptors.removeValue(forKey: backing) } }

    /// The local file that is registered last, held as by a mapping: another descriptor that may write. To be closed.
    func held() throws -> Int32 {
        let descriptor = state.withLock { $0.descriptors[$0.next] }
        let held = descriptor.map { Glibc.open("/proc/self/fd/\($0)", O_RDWR | O_CLOEXEC) } ?? -1
        if held < 0 { throw VolumeError(EBADF, "nothing is registered") }
        return held
    }

    /// Registering is dear from now on.
    func pays(from size: Int64) { state.withLock { $0.leastForReaders = size } }
    func paysForReaders(of size: Int64) -> Bool { state.withLock { size >= $0.leastForReaders } }
}

/// A volume over a store in memory, without a kernel.
final class TestVolume: Sendable {
    typealias Provider = FaultInjectingProvider<InMemoryProvider>
    let directory: String
    let provider: Provider
    let kernel = RecordingKernel()
    let backing: RecordingBacking
    let catalog: Catalog
    let store: ContentStore
    let engine: SyncEngine
    let volume: Volume

    var remote: InMemoryProvider { provider.base }

    init(
        passthrough: Bool = false, settle: Double = 0, settleAfterSync: Double = 30, directory: String? = nil,
        provider: Provider? = nil,
        boot: String? = nil, cache: CacheLimits = .none, keepsOrder: Bool? = nil
    ) throws {
        self.directory = directory ?? NSTemporaryDirectory() + "volume-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: self.directory, withIntermediateDirectories: true)
        self.provider = provider ?? Provider(InMemoryProvider(pieceSize: 4_096))
        backing = RecordingBacking(isAllowed: passthrough)
        catalog = try Catalog(path: self.directory + "/catalog", domain: "test:", owner: (1_000, 1_000))
        store = try ContentStore(directory: self.directory + "/content", keepsOrder: keepsOrder)
        var times = SyncTimes()
        times.firstLook = 0
        times.settle = settle
        times.settleAfterSync = settleAfterSync
        times.firstRetry = 0.05
        times.readTimeout = 5
        engine = SyncEngine(
            provider: self.provider, catalog: catalog, store: store, times: times,
            defaults: PlaceholderDefaults(uid: 1_000, gid: 1_000), cache: cache,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        volume = Volume(engine: engine, kernel: kernel, backing: backing)
        try volume.recover(boot: boot)
    }

    /// What the next daemon finds when this one is killed now: nothing is closed or finished.
    ///
    /// - Parameter boot: another than before: by a power loss.
    func killed(boot: String? = nil) async throws -> TestVolume {
        // What waits for a transaction is lost.
        catalog.carry(NothingWaits.instance)
        for inode in volume.closedWriters.closed.keys { volume.closedWriters.cancel(inode) }
        await engine.stop()
        // SIGKILL closes what was open.
        let storage = directory + "/content/storage/"
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)) ?? ""
            guard path.hasPrefix(storage), let number = Int32(name) else { continue }
            let nowhere = Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC)
            dup2(nowhere, number)
            Glibc.close(nowhere)
        }
        return try TestVolume(directory: directory, provider: provider, boot: boot)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    // MARK: Calls, as the frontend makes them

    func answer<T>(_ call: () throws -> Outcome<T>) async throws -> T {
        while true {
            switch try call() {
            case .ready(let value): return value
            case .wait(let wait): try await wait.run()
            }
        }
    }

    func find(_ path: String) async throws -> Lookup? {
        var found: Lookup?
        for name in path.split(separator: "/") {
            let folder = found?.node ?? .root
            found = try await answer { try volume.lookUp(Filename(String(name)), in: folder) }
            if found == nil { break }
        }
        return found
    }

    func lookUp(_ path: String) async throws -> Lookup {
        guard let found = try await find(path) else { throw VolumeError(ENOENT, path) }
        return found
    }

    func open(_ path: String, _ flags: Int32 = O_RDONLY) async throws -> Opened {
        try volume.open(try await lookUp(path).node, flags: flags)
    }

    func create(_ name: Filename, in folder: NodeID = .root) async throws -> (Lookup, Opened) {
        try await answer { try volume.create(name, in: folder, mode: 0o644, uid: 1_000, gid: 1_000) }
    }

    /// - Parameter thread: who reads, as FUSE says it.
    func read(
        _ handle: HandleID, _ offset: Int64 = 0, _ count: Int = 1 << 20, thread: Int32? = nil
    ) async throws -> [UInt8] {
        try await answer {
            var bytes = [UInt8](repeating: 0xee, count: count)
            return
                switch try bytes.withUnsafeMutableBytes({
                    try volume.read(handle, into: $0, at: offset, thread: thread)
                })
            {
            case .ready(let count): .ready(Array(bytes[..<count]))
            case .wait(let wait): .wait(wait)
            }
        }
    }

    func write(_ handle: HandleID, _ text: String, at offset: Int64 = 0) throws {
        try Array(text.utf8).withUnsafeBytes { try volume.write(handle, $0, at: offset) }
    }

    /// What close(2) does.
    func close(_ handle: HandleID) throws {
        try volume.flush(handle)
        volume.close(handle)
        volume.endWritingNow()
    }

    /// `cat`.
    func contents(_ path: String) async throws -> String {
        let opened = try await open(path)
        defer { volume.close(opened.handle) }
        return String(decoding: try await read(opened.handle), as: UTF8.self)
    }

    /// `echo text >name`, in the root.
    @discardableResult
    func save(_ name: Filename, _ text: String) async throws -> Lookup {
        let (lookup, opened) = try await create(name)
        try write(opened.handle, text)
        try close(opened.handle)
        return lookup
    }

    // MARK: The rest of the world

    /// Asks the provider for the root's listing again.
    func refresh(_ folder: InodeID = .root) async throws { try await engine.enumerate(folder) }

    /// Sends what is pending.
    func sync() async throws -> [ItemRecord] {
        engine.start()
        return try await engine.sync(timeout: 60)
    }

    func pendingNames() throws -> [String] {
        try catalog.read { try $0.allPending(limit: 100) }
            .map { ($0.local ?? $0.base ?? $0.remote)?.name.string ?? "?" }.sorted()
    }

    /// What another process would read in the catalog's file at this moment.
    func durably<T>(_ body: (Catalog.Reader) throws -> T) throws -> T {
        let other = try Catalog(path: catalog.path, domain: "test:", owner: (0, 0))
        defer { other.close() }
        return try other.read(body)
    }
}

private final class NothingWaits: WaitingChanges {
    static let instance = NothingWaits()
    let isEmpty = true
    func make(in writer: Catalog.Writer) -> (@Sendable () -> Void) { {} }
    func giveUp() {}
}

/// The errno that `body` fails with; nil when it does not.
func errnoOf(_ body: () async throws -> Void) async -> Int32? {
    do {
        try await body()
        return nil
    } catch {
        return VolumeError(error).errno
    }
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
