import ContentStore
import FileProvider
import ItemCatalog
import Locking
import Logging
import Trees

/// What came of downloads, and the catalog does not say yet: it is recorded a moment later, of many in one transaction.
/// Whoever waited for the bytes has them by then; after a kill they come again.
final class DownloadRecords: Sendable {
    private struct Waiting {
        /// Held, so that whoever opens the document meanwhile finds what is here of it.
        var content: ContentFile
        /// Of the end of a stream: what comes later of the same document is another.
        var number: UInt64
        /// The document's path, for messages.
        var name: String
    }
    private struct State {
        var waiting: [ObjectIdentifier: Waiting] = [:]
        var ends: UInt64 = 0
    }
    private let state = AdaptiveMutex(State())
    private let context: SyncContext
    private let afterwards: Debouncer

    init(context: SyncContext) {
        self.context = context
        afterwards = Debouncer(workers: context.workers)
    }

    /// A stream has ended, or brought much. Never blocks.
    func add(_ content: ContentFile, name: String) {
        state.withLock { state in
            state.ends += 1
            state.waiting[ObjectIdentifier(content)] = Waiting(content: content, number: state.ends, name: name)
        }
        afterwards.plan { self.recordNow() }
    }

    /// What has come so far is recorded when this returns.
    func recordNow() {
        let waiting = state.withLock { $0.waiting }
        if waiting.isEmpty { return }
        defer {
            state.withLock { state in
                for (key, one) in waiting where state.waiting[key]?.number == one.number { state.waiting[key] = nil }
            }
        }
        do {
            let recorded = try context.catalog.write { writer in
                try waiting.values.compactMap { one -> (content: ContentFile, extents: RangeSet<Int64>?)? in
                    let extents = one.content.present
                    do { return try record(one.content, extents, writer) ? (one.content, extents) : nil } catch {
                        // One file that the disk does not let be changed is not to be in the way of others.
                        guard error is ContentError else { throw error }
                        tell(error, [one])
                        return nil
                    }
                }
            }
            for (content, extents) in recorded { content.noteRecorded(extents) }
            context.downloadSyncer.added()
            context.room.grew()
        } catch {
            tell(error, Array(waiting.values))
        }
    }

    private func tell(_ error: any Error, _ waiting: [Waiting]) {
        context.logger.error(
            "cannot record downloads; what is not recorded comes again after a restart",
            metadata: ["items": "\(waiting.map(\.name).sorted())", "error": "\(error)"])
    }

    /// - Returns: false when the bytes are not those of a document any more.
    private func record(
        _ content: ContentFile, _ extents: RangeSet<Int64>?, _ writer: Catalog.Writer
    ) throws -> Bool {
        // Whose they are by now: a writer's, perhaps, for whom they were parted from the document.
        let (id, generation) = (InodeID(rawValue: content.id.inode), content.id.number)
        guard let inode = try writer.inodeIfPresent(id), inode.generation == generation else { return false }
        // In the transaction: a writer who comes next has marked what he finds, and this would pass for his.
        if extents == nil, inode.writing == nil { try content.setModified(inode.modified.nanoseconds) }
        try writer.recordExtents(id, generation: generation, extents: extents)
        try writer.noteUndurable(id, generation: generation)
        writer.changes.append(.attributes(id))
        if extents == nil, let inode = try writer.inodeIfPresent(id) {
            _ = try context.labels.update(inode, in: writer)
        }
        return true
    }
}
