import FileProvider
import ItemCatalog
import Locking
import Logging
import SyncEngine
import Trees

/// Documents whose last writer has closed them, and which still carry the dirty mark: the mark is taken away a moment
/// later, for many documents in one transaction. The writer's changes are recorded by then (FLUSH), and close(2) does
/// not wait for RELEASE.
final class ClosedWriters: Sendable {
    private struct State {
        /// With the number of the close: a later close of the same document has another number.
        var waiting: [InodeID: UInt64] = [:]
        var closes: UInt64 = 0
    }
    private let state = AdaptiveMutex(State())

    func add(_ inode: InodeID) {
        state.withLock { state in
            state.closes += 1
            state.waiting[inode] = state.closes
        }
    }

    /// A new writer has come, and owns the mark from now on. Called in the transaction that marks the document.
    func cancel(_ inode: InodeID) { state.withLock { $0.waiting[inode] = nil } }

    /// The documents whose marks are to be taken away; asked in the transaction that does it.
    var waiting: [InodeID: UInt64] { state.withLock { $0.waiting } }

    /// The marks of these documents have been taken away, durably; documents that were closed again since wait on.
    func ended(_ inodes: [InodeID: UInt64]) {
        state.withLock { state in
            for (inode, close) in inodes where state.waiting[inode] == close { state.waiting[inode] = nil }
        }
    }
}

extension Volume {
    func clearMarkLater(_ inode: InodeID) {
        closedWriters.add(inode)
        seeToItLater()
    }

    /// Takes away the marks of all documents that nobody writes any more.
    package func endWritingNow() {
        if closedWriters.waiting.isEmpty { return }
        do {
            let ended = try catalog.write { writer in
                // Asked inside: a writer that marks a document takes it off the list in its own transaction.
                let ended = closedWriters.waiting
                for inode in ended.keys { try endWriting(inode, writer) }
                return ended
            }
            closedWriters.ended(ended)
            engine.changed()
        } catch {
            mount.logger.error(
                "cannot clear dirty marks; this is tried again at the next close and at the next mount",
                metadata: ["error": "\(error)"])
        }
    }

    private func endWriting(_ inode: InodeID, _ writer: Catalog.Writer) throws {
        try writer.endWriting(inode, settle: times.settle, defaults: mount.defaults)
        // The upload may have been confirmed while the writer still had it open.
        if let record = try writer.inodeIfPresent(inode) { _ = try mount.labels.updateMarked(record, in: writer) }
    }
}
