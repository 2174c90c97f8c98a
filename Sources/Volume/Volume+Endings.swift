import FileProvider
import ItemCatalog
import Logging
import SyncEngine
import Synchronization

/// Documents whose last writer has let go, and which still carry his dirty mark: it is taken away a moment later, of many
/// in one transaction. What he wrote is recorded by then (FLUSH), and close(2) does not wait for RELEASE.
final class Endings: Sendable {
    private struct State {
        var waiting: Set<InodeID> = []
        var isScheduled = false
    }
    private let state = Mutex(State())

    /// - Returns: whether somebody must see to it.
    func add(_ inode: InodeID) -> Bool {
        state.withLock { state in
            state.waiting.insert(inode)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
    }

    /// A new writer has come, whose mark it is from now on. In the transaction that marks the document.
    func cancel(_ inode: InodeID) { state.withLock { _ = $0.waiting.remove(inode) } }

    /// In the transaction that ends them.
    func take() -> Set<InodeID> {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    /// Whoever comes from now on needs somebody else.
    func isSeenTo() { state.withLock { $0.isScheduled = false } }

    var isEmpty: Bool { state.withLock { $0.waiting.isEmpty } }
}

extension Volume {
    private static let pause = Duration.milliseconds(10)

    func endWritingLater(_ inode: InodeID) {
        guard endings.add(inode) else { return }
        Task(executorPreference: context.workers) { [weak self] in
            try? await Task.sleep(for: Self.pause)
            self?.endings.isSeenTo()
            self?.endWritingNow()
        }
    }

    /// No document is marked that nobody writes any more.
    package func endWritingNow() {
        if endings.isEmpty { return }
        do {
            var taken: Set<InodeID> = []
            let told = try catalog.write { writer in
                // (A transaction may run twice, where the disk is full.)
                taken.formUnion(endings.take())
                for inode in taken { try endWriting(inode, writer) }
                return writer.changes
            }
            if !told.isEmpty { catalogChanged(told) }
            engine.changed()
        } catch {
            context.logger.error(
                "cannot take dirty marks away; the documents are looked at again at the next mount",
                metadata: ["error": "\(error)"])
        }
    }

    private func endWriting(_ inode: InodeID, _ writer: Catalog.Writer) throws {
        try writer.endWriting(inode, settle: times.settle, defaults: context.defaults)
        // It may have been confirmed while the writer still had it open.
        if let record = try writer.inodeIfPresent(inode) { _ = try context.labels.updateMarked(record, in: writer) }
    }
}
