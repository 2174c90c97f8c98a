import FileProvider
import ItemCatalog
import Locking
import Logging
import SyncEngine
import Trees

/// Documents whose last writer has let go, and which still carry his dirty mark: it is taken away a moment later, of many
/// in one transaction. What he wrote is recorded by then (FLUSH), and close(2) does not wait for RELEASE.
final class Endings: Sendable {
    private struct State {
        /// With the number of the close: a later one of the same document is another.
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

    /// A new writer has come, whose mark it is from now on. In the transaction that marks the document.
    func cancel(_ inode: InodeID) { state.withLock { $0.waiting[inode] = nil } }

    /// In the transaction that ends them.
    var waiting: [InodeID: UInt64] { state.withLock { $0.waiting } }

    /// Those are ended, durably; what did not get so far waits on.
    func ended(_ inodes: [InodeID: UInt64]) {
        state.withLock { state in
            for (inode, close) in inodes where state.waiting[inode] == close { state.waiting[inode] = nil }
        }
    }
}

extension Volume {
    func endWritingLater(_ inode: InodeID) {
        endings.add(inode)
        seeToItLater()
    }

    /// No document is marked that nobody writes any more.
    package func endWritingNow() {
        if endings.waiting.isEmpty { return }
        do {
            let (ended, told) = try catalog.write { writer in
                // Asked inside: whoever marks a document strikes it off in a transaction of his own.
                let ended = endings.waiting
                for inode in ended.keys { try endWriting(inode, writer) }
                return (ended, writer.changes)
            }
            endings.ended(ended)
            if !told.isEmpty { catalogChanged(told) }
            engine.changed()
        } catch {
            context.logger.error(
                "cannot take dirty marks away; it is tried again at the next close, and at the next mount",
                metadata: ["error": "\(error)"])
        }
    }

    private func endWriting(_ inode: InodeID, _ writer: Catalog.Writer) throws {
        try writer.endWriting(inode, settle: times.settle, defaults: context.defaults)
        // It may have been confirmed while the writer still had it open.
        if let record = try writer.inodeIfPresent(inode) { _ = try context.labels.updateMarked(record, in: writer) }
    }
}
