import FileProvider
import FileProviderTesting
import Synchronization

/// A store in memory in which every call waits until the ``Schedule`` carries it out, and its answer until the schedule
/// delivers it; some calls fail in between. One for each life of the daemon, over the same store.
///
/// Unchecked: one thread alone uses it (see ``Schedule``).
final class GatedStore: @unchecked Sendable {
    typealias Failure = FileProviderError

    /// The faults of calls, by their numbers in operations.
    enum Fault: Int, CaseIterable {
        /// The store is not asked.
        case unreachable, busy, broken
        /// The call is carried out, but its answer is lost; or it is carried out much later.
        case lostReply, late
        /// As if another client had changed the item.
        case mismatch
        /// A download: only a part arrives (with an error, or without), or too much, or everything twice.
        case cut, cutSilently, surplus, twice
        /// The call takes minutes.
        case hang
    }

    let base: InMemoryProvider
    private let world: World
    private(set) var isDead = false

    init(_ base: InMemoryProvider, _ world: World) {
        self.base = base
        self.world = world
    }

    /// The daemon is dead: no call gets an answer any more.
    func die() { isDead = true }

    private static func unreachable() -> Failure { Failure(.serverUnreachable, "The line is cut.") }

    // MARK: Waiting

    /// Waits until the schedule chooses the call.
    private func park(_ what: String, afterDeath: (@Sendable () async -> Void)? = nil) async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            Schedule.shared.park(
                .init(what: what, happen: { continuation.resume() }, afterDeath: afterDeath))
        }
    }

    private static let changing: Set<Hook> = [
        .createItem, .itemChanged, .moveItem, .deleteItem, .updateMetadata, .copyItem, .trashItem,
    ]

    private func checkLine() throws(Failure) { if world.isOffline { throw Self.unreachable() } }

    /// One call: it waits, is carried out, waits, and is answered.
    private func call<T: Sendable>(
        _ hook: Hook, _ about: String, item: ItemIdentifier? = nil,
        _ body: @escaping @Sendable () async throws(Failure) -> T
    ) async throws(Failure) -> T {
        let fault = world.takeFault(hook)
        world.log("store: \(hook.rawValue) \(about)\(fault.map { " (\($0))" } ?? "")")
        let changes = Self.changing.contains(hook)
        let carryOut: @Sendable () async -> Void = { do { _ = try await body() } catch {} }
        if fault == .late, changes {
            Schedule.shared.park(
                Schedule.Event(what: "late", happen: { Task { await carryOut() } }, afterDeath: carryOut))
            throw Self.unreachable()
        }
        await park(hook.rawValue, afterDeath: changes ? carryOut : nil)
        if Task.isCancelled { throw Failure(.cancelled, "cancelled") }
        try checkLine()
        switch fault {
        case .unreachable: throw Self.unreachable()
        case .busy: throw Failure(.busy, "busy")
        case .broken: throw Failure(.cannotSynchronize, "something is broken")
        case .mismatch:
            if changes, let item {
                let current = try await base.providePlaceholder(for: item)
                throw Failure(.versionMismatch, "mismatch", item: current)
            }
        case .hang: try? await Task.sleep(for: .seconds(200))
        default: break
        }
        let result: Result<T, Failure>
        do throws(Failure) { result = .success(try await body()) } catch { result = .failure(error) }
        await park("answer")
        if fault == .lostReply { throw Self.unreachable() }
        try checkLine()
        return try result.get()
    }

    /// The whole contents: an upload that breaks off changes nothing.
    private func received(_ contents: any ContentSource) async throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        while Int64(bytes.count) < contents.size {
            let piece = try await contents.read(at: Int64(bytes.count), upTo: 4_096)
            if piece.isEmpty { throw Failure(.cannotSynchronize, "the contents are shorter than announced") }
            bytes += piece
        }
        return bytes
    }
}

// MARK: - The hooks
extension GatedStore: FileProviderExtension {
    func providePlaceholder(for identifier: ItemIdentifier) async throws(Failure) -> Item {
        try await call(.providePlaceholder, identifier.rawValue) { [base] () async throws(Failure) in
            try await base.providePlaceholder(for: identifier)
        }
    }

    func enumerateItems(in folder: ItemIdentifier, startingAt page: Page?) async throws(Failure) -> ItemPage {
        try await call(.enumerateItems, folder.rawValue) { [base] () async throws(Failure) in
            try await base.enumerateItems(in: folder, startingAt: page)
        }
    }

    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(Failure) {
        let fault = world.takeFault(.startProvidingItem)
        world.log("store: startProvidingItem \(identifier.rawValue) \(range)\(fault.map { " (\($0))" } ?? "")")
        await park("startProvidingItem")
        if Task.isCancelled { throw Failure(.cancelled, "cancelled") }
        try checkLine()
        switch fault {
        case .unreachable: throw Self.unreachable()
        case .busy: throw Failure(.busy, "busy")
        case .broken: throw Failure(.cannotSynchronize, "something is broken")
        case .hang: try? await Task.sleep(for: .seconds(200))
        default: break
        }
        let isCut = fault == .cut || fault == .cutSilently
        let limited = LimitedSink(
            base: sink, left: isCut ? Int64(range.count) / 2 : .max, repeats: fault == .twice,
            pause: { [self] in await park("piece") })
        do throws(Failure) {
            try await base.startProvidingItem(identifier, version: version, range: range, into: limited)
        } catch {
            if fault == .cutSilently, limited.isCut { return }
            throw error
        }
        if fault == .surplus { try await sink.write([0, 0, 0], at: range.upperBound) }
        if fault == .lostReply { throw Self.unreachable() }
        try checkLine()
    }

    func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        let bytes = try await received(contents)
        return try await call(.itemChanged, "\(identifier.rawValue) \(Contents.show(bytes))", item: identifier) {
            [base, world] () async throws(Failure) in
            let item = try await base.itemChanged(
                identifier, contents: BytesSource(bytes), metadata: metadata, baseVersion: baseVersion)
            world.storeHas(bytes, item)
            return item
        }
    }

    func createItem(_ template: ItemTemplate, contents: (any ContentSource)?) async throws(Failure) -> Item {
        var bytes: [UInt8] = []
        if let contents { bytes = try await received(contents) }
        let sent = bytes
        return try await call(
            .createItem, "\(template.parentIdentifier.rawValue)/\(template.filename) \(Contents.show(sent))"
        ) {
            [base, world] () async throws(Failure) in
            let item = try await base.createItem(template, contents: contents == nil ? nil : BytesSource(sent))
            if template.kind.isDocument { world.storeHas(sent, item) }
            return item
        }
    }

    func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        try await call(.moveItem, "\(identifier.rawValue) to \(folder.rawValue)/\(filename)", item: identifier) {
            [base] () async throws(Failure) in
            try await base.moveItem(identifier, to: folder, as: filename, baseVersion: baseVersion)
        }
    }

    func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(Failure) {
        try await call(.deleteItem, identifier.rawValue, item: identifier) { [base] () async throws(Failure) in
            try await base.deleteItem(identifier, baseVersion: baseVersion)
        }
    }
}

extension GatedStore: MetadataUpdating {
    func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        try await call(.updateMetadata, identifier.rawValue, item: identifier) { [base] () async throws(Failure) in
            try await base.updateMetadata(identifier, to: metadata, baseVersion: baseVersion)
        }
    }
}

extension GatedStore: ChangeEnumerating {
    func currentSyncAnchor() async throws(Failure) -> SyncAnchor {
        try await call(.currentSyncAnchor, "") { [base] () async throws(Failure) in try await base.currentSyncAnchor() }
    }

    func enumerateChanges(from anchor: SyncAnchor) async throws(Failure) -> ChangePage {
        try await call(.enumerateChanges, "") { [base] () async throws(Failure) in
            try await base.enumerateChanges(from: anchor)
        }
    }
}

extension GatedStore: Trashing {
    var hasTrash: Bool { base.hasTrash }

    func trashItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(Failure) {
        try await call(.trashItem, identifier.rawValue, item: identifier) { [base] () async throws(Failure) in
            try await base.trashItem(identifier, baseVersion: baseVersion)
        }
    }
}

extension GatedStore: ChangeSignaling {
    func changeSignals() -> AsyncStream<ChangeSignal> {
        let (stream, continuation) = AsyncStream.makeStream(of: ChangeSignal.self)
        let signals = base.changeSignals()
        Task { [self] in
            for await signal in signals {
                if isDead { return }
                continuation.yield(signal)
            }
        }
        return stream
    }
}

/// Passes on a download: in pieces, twice, or only in part.
private final class LimitedSink: ContentSink, @unchecked Sendable {
    // Unchecked: one thread alone uses it (see Schedule).
    private let base: any ContentSink
    private var left: Int64
    private let repeats: Bool
    private let pause: @Sendable () async -> Void
    private(set) var isCut = false

    init(base: any ContentSink, left: Int64, repeats: Bool, pause: @escaping @Sendable () async -> Void) {
        (self.base, self.left, self.repeats, self.pause) = (base, left, repeats, pause)
    }

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        await pause()
        let part = Array(bytes.prefix(Int(min(Int64(bytes.count), left))))
        left -= Int64(part.count)
        if !part.isEmpty {
            try await base.write(part, at: offset)
            if repeats { try await base.write(part, at: offset) }
        }
        if part.count < bytes.count {
            isCut = true
            throw FileProviderError(.serverUnreachable, "The line broke.")
        }
    }
}
