import ContentStore
package import ControlAPI
import FileProvider
import Foundation
import ItemCatalog
import Logging
import SyncEngine
import Synchronization
import Trees

/// Indexes the texts of downloaded documents, if the user has switched this on. Reads one document after another in the
/// background; never downloads any.
package final class TextIndexer: Sendable {
    private struct State {
        var index: TextIndex?
        var task: Task<Void, Never>?
        var watch: Int?
        /// Documents that have changed.
        var changed: Set<InodeID> = []
        /// Too many documents have changed to list them.
        var isAnyChanged = false
        /// The number of documents still to be checked.
        var left = 0
        var isScanning = false
        var isClosed = false
    }
    private let mount: MountState
    private let path: String
    private let domain: String
    private let state = Mutex(State())
    private let reader = TextReader()
    /// The callback for documents whose indexed text has changed.
    private let indexed = Callback<Set<InodeID>>()
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private static let note = "text index"
    /// The time from a document's last change until it is read.
    private static let settle: Duration = .milliseconds(500)
    private static let window: Int64 = 4_096

    init(mount: MountState, stateDirectory: String, domain: String) {
        self.mount = mount
        self.domain = domain
        path = stateDirectory + "/texts.sqlite"
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func onIndexed(_ body: @escaping @Sendable (Set<InodeID>) -> Void) { indexed.set(body) }

    /// Restores the last setting.
    func begin() {
        guard (try? mount.catalog.read { try $0.note(Self.note) }) == "on" else { return }
        do { try start() } catch {
            mount.logger.warning("the index of texts cannot be used", metadata: ["error": "\(error)"])
        }
    }

    func close() async {
        let task = state.withLock { state in
            state.isClosed = true
            return state.task
        }
        await end(task)
    }

    // MARK: Switching on and off

    /// - Returns: the state; a change is recorded when this returns.
    package func set(_ isOn: Bool?) async throws -> TextIndexStatus {
        switch isOn {
        case true?:
            try mount.catalog.write { try $0.takeNote(Self.note, "on") }
            try start()
        case false?:
            try mount.catalog.write { try $0.takeNote(Self.note, "off") }
            await end(state.withLock { $0.task })
            TextIndex.remove(path)
        case nil: break
        }
        let (index, left) = state.withLock { ($0.index, $0.left + ($0.isScanning ? 1 : 0)) }
        return TextIndexStatus(isOn: index != nil, documents: try index?.count() ?? 0, isBusy: left > 0)
    }

    func inodes(with text: String) -> Set<InodeID> {
        guard let index = state.withLock({ $0.index }) else { return [] }
        do { return try index.inodes(with: text) } catch {
            mount.logger.warning("the index of texts cannot be searched", metadata: ["error": "\(error)"])
            return []
        }
    }

    // MARK: Indexing

    private func start() throws {
        guard state.withLock({ $0.index == nil && !$0.isClosed }) else { return }
        let index = try TextIndex(path: path, domain: domain)
        let watch = try mount.catalog.watchRows { [weak self] rows in self?.changed(rows) }
        let task = Task(executorPreference: mount.workers) { [weak self, signals] in
            await self?.scan(index)
            for await _ in signals {
                if Task.isCancelled { return }
                try? await Task.sleep(for: Self.settle)
                if Task.isCancelled { return }
                await self?.takeChanged(index)
            }
        }
        state.withLock { state in
            (state.index, state.watch, state.task, state.isScanning) = (index, watch, task, true)
        }
    }

    private func end(_ task: Task<Void, Never>?) async {
        let (index, watch) = state.withLock { state in
            defer { (state.index, state.watch, state.task, state.changed) = (nil, nil, nil, []) }
            return (state.index, state.watch)
        }
        if let watch { mount.catalog.unwatchRows(watch) }
        task?.cancel()
        signal.yield()
        await task?.value
        index?.close()
    }

    private func changed(_ rows: ChangedRows) {
        state.withLock { state in
            state.changed.formUnion(rows.inodes)
            state.isAnyChanged = state.isAnyChanged || rows.isTooMany
        }
        signal.yield()
    }

    /// Indexes every downloaded document.
    private func scan(_ index: TextIndex) async {
        do { try await forgetGone(index) } catch {
            mount.logger.warning("the index of texts cannot be tidied up", metadata: ["error": "\(error)"])
        }
        var last: Int64 = 0
        var bounds = SearchBounds()
        bounds.size = 1 ... .max
        while !Task.isCancelled, let next = try? mount.catalog.readAside({ try $0.inode(after: last) }) {
            let through = next + Self.window
            let rows =
                (try? mount.catalog.readAside { try $0.searchRows(after: next - 1, through: through, bounds) }) ?? []
            for row in rows where row.isWhole && !Task.isCancelled {
                take(row.inode, row.name.string, index)
                await Task.yield()
            }
            last = through
        }
        state.withLock { $0.isScanning = false }
    }

    /// Removes deleted documents, and starts a new index if most of it is old texts.
    private func forgetGone(_ index: TextIndex) async throws {
        var last: Int64 = 0
        while !Task.isCancelled {
            let inodes = try index.inodes(after: last, limit: Int(Self.window))
            guard let end = inodes.last else { break }
            let gone = try mount.catalog.readAside { reader in
                try inodes.filter { try reader.searchRows(of: $0).isEmpty }
            }
            for inode in gone { try index.forget(inode) }
            last = end.rawValue
            await Task.yield()
        }
        try index.clearIfMostlyOld()
    }

    private func takeChanged(_ index: TextIndex) async {
        let (inodes, isAny) = state.withLock { state in
            defer { (state.changed, state.isAnyChanged) = ([], false) }
            state.left = state.changed.count
            return (state.changed, state.isAnyChanged)
        }
        if isAny { return await scanAgain(index) }
        for inode in inodes {
            if Task.isCancelled { return }
            do {
                let row = try mount.catalog.readAside { try $0.searchRows(of: inode).first }
                if row == nil { try index.forget(inode) }
                if let row, row.kind == .document, row.isWhole, row.size > 0 { take(inode, row.name.string, index) }
            } catch {
                mount.logger.debug("a text cannot be indexed", metadata: ["error": "\(error)"])
            }
            state.withLock { $0.left = max(0, $0.left - 1) }
            await Task.yield()
        }
        if (try? index.clearIfMostlyOld()) == true { await scanAgain(index) }
    }

    private func scanAgain(_ index: TextIndex) async {
        state.withLock { $0.isScanning = true }
        await scan(index)
    }

    private func take(_ inode: InodeID, _ name: String, _ index: TextIndex) {
        do {
            let known = try index.stamp(of: inode)
            guard reader.canRead(name) else {
                if known != nil { try index.forget(inode) }
                return
            }
            if let known, let record = try mount.catalog.readAside({ try $0.inodeIfPresent(inode) }),
                known == TextIndex.Stamp(record)
            {
                return
            }
            let (record, content) = try mount.openCurrent(inode)
            // A document that a program is writing is read when the program has closed it.
            guard content.isComplete, record.writing == nil else { return }
            let text = reader.text(of: content, named: name, size: record.size)
            try index.put(text, of: inode, TextIndex.Stamp(record))
            indexed([inode])
        } catch {
            mount.logger.debug("a text cannot be indexed", metadata: ["error": "\(error)"])
        }
    }
}
