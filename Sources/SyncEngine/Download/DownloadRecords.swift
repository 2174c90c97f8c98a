import ContentStore
import FileProvider
import Foundation
import ItemCatalog
import Locking
import Logging
import Trees

/// Records downloaded ranges in the catalog a moment later, many in one transaction. Waiters have their bytes by then;
/// after a kill, unrecorded bytes are downloaded again.
final class DownloadRecords: Sendable {
    private struct Waiting {
        /// Retained, so that a program that opens the document meanwhile finds the bytes.
        var content: ContentFile
        /// Counts additions: a later addition of the same document has another number.
        var number: UInt64
        /// The document's path, for messages.
        var name: String
    }
    private struct State {
        var waiting: [ObjectIdentifier: Waiting] = [:]
        var ends: UInt64 = 0
    }
    private let state = AdaptiveMutex(State())
    /// Serializes recording: a second record of the same bytes, after an fsync of them, would count them as not durable.
    private let turn = NSLock()
    private let mount: MountState
    private let afterwards: Debouncer

    init(mount: MountState) {
        self.mount = mount
        afterwards = Debouncer(workers: mount.workers)
    }

    /// A stream has ended, or brought many bytes. Never blocks.
    func add(_ content: ContentFile, name: String) {
        state.withLock { state in
            state.ends += 1
            state.waiting[ObjectIdentifier(content)] = Waiting(content: content, number: state.ends, name: name)
        }
        afterwards.plan { self.recordNow() }
    }

    /// Records all bytes that have come so far. Not under a node's lock.
    func recordNow() { turn.withLock { recordWaiting() } }

    /// Makes bytes missing again that the provider has sent and then said not to be right.
    func forget(_ range: Range<Int64>, of content: ContentFile, name: String) {
        turn.withLock {
            guard let gone = content.forget(range) else { return }
            let (id, generation) = (InodeID(rawValue: content.id.inode), content.id.number)
            do {
                try mount.catalog.write { writer in
                    // (Programs that have read them have them in the kernel's cache.)
                    guard try writer.forgetExtents(id, generation: generation, gone) else { return }
                    writer.changes.append(.contents(id))
                }
            } catch {
                mount.logger.error(
                    "cannot record that a download was wrong", metadata: ["item": "\(name)", "error": "\(error)"])
            }
        }
    }

    private func recordWaiting() {
        let waiting = state.withLock { $0.waiting }
        if waiting.isEmpty { return }
        defer {
            state.withLock { state in
                for (key, one) in waiting where state.waiting[key]?.number == one.number { state.waiting[key] = nil }
            }
        }
        do {
            let recorded = try mount.catalog.write { writer in
                try waiting.values.compactMap { one -> (content: ContentFile, extents: RangeSet<Int64>?)? in
                    let extents = one.content.present
                    do { return try record(one.content, extents, writer) ? (one.content, extents) : nil } catch {
                        // A file that the disk refuses to change must not block the others.
                        guard error is ContentError else { throw error }
                        logFailure(error, [one])
                        return nil
                    }
                }
            }
            for (content, extents) in recorded { content.noteRecorded(extents) }
            mount.downloadSyncer.added()
            mount.room.grew()
        } catch {
            logFailure(error, Array(waiting.values))
        }
    }

    private func logFailure(_ error: any Error, _ waiting: [Waiting]) {
        mount.logger.error(
            "cannot record downloads; after a restart, they are downloaded again",
            metadata: ["items": "\(waiting.map(\.name).sorted())", "error": "\(error)"])
    }

    /// - Returns: false when the bytes no longer belong to a document.
    private func record(
        _ content: ContentFile, _ extents: RangeSet<Int64>?, _ writer: Catalog.Writer
    ) throws -> Bool {
        // The bytes' present inode: a conflict may have given them to another document, a writer's.
        let (id, generation) = (InodeID(rawValue: content.id.inode), content.id.number)
        guard let inode = try writer.inodeIfPresent(id), inode.generation == generation else { return false }
        // (Recorded already: a stream may end long after its bytes were recorded. A program may have synced and changed
        // them since, and the file keeps the date of that.)
        if inode.extents == extents {
            if extents == nil { _ = try mount.labels.update(inode, in: writer) }
            return true
        }
        // Inside the transaction: a later writer marks the file's date, so a change of ours must come before, or it
        // would pass for the writer's.
        if extents == nil, inode.writing == nil { try content.setModified(inode.modified.nanoseconds) }
        try writer.recordExtents(id, generation: generation, extents: extents)
        try writer.noteUndurable(id, generation: generation)
        writer.changes.append(.attributes(id))
        if extents == nil, let inode = try writer.inodeIfPresent(id) {
            _ = try mount.labels.update(inode, in: writer)
        }
        return true
    }
}
