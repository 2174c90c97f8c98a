package import FileProvider
import GRDB

extension Catalog.Writer {
    /// The dirty mark, durable before a writer's first byte.
    ///
    /// `.modified` makes the change pending as well (not ready: the writer is still at work).
    /// - Throws: ``CatalogError/Code/notFound`` when the bytes are another generation by now.
    package func beginWriting(_ id: InodeID, generation: Int64, mark: WritingMark) throws {
        var inode = try inode(id)
        guard inode.generation == generation else { throw CatalogError(.replaced, "the contents were replaced") }
        if inode.writing == .modified { return }
        inode.writing = mark
        try update(inode)
        if mark == .modified { try bumpContent(of: id, readyAt: .farFuture) }
    }

    /// The bytes changed and this is their state now. Makes the change pending; when it returns the
    /// change is not lost any more.
    ///
    /// - Parameters:
    ///   - mark: what stays: nil when the last writer is done.
    ///   - settle: seconds from now until it may be sent; nil: not before the last writer is done.
    @discardableResult
    package func recordWritten(
        _ id: InodeID, size: Int64, modified: FileTime, mark: WritingMark?, settle: Double?
    ) throws -> InodeRecord {
        var inode = try inode(id)
        inode.size = size
        inode.modified = modified
        inode.changed = now
        inode.writing = mark
        try update(inode)
        try bumpContent(of: id, readyAt: settle.map(now.adding(seconds:)) ?? .farFuture)
        return inode
    }

    /// What has been recorded of a writer's work may be sent although he goes on (fsync(2)).
    package func becomeReady(_ id: InodeID, settle: Double) throws {
        guard var item = try item(of: id), item.readyAt == .farFuture else { return }
        item.becomesReady(at: now.adding(seconds: settle))
        try update(item)
    }

    /// The last writer is done, and what it changed has been recorded. A change of the provider's that
    /// had to wait for it is taken now.
    package func endWriting(_ id: InodeID, settle: Double, defaults: PlaceholderDefaults) throws {
        guard var inode = try inodeIfPresent(id), inode.writing != nil else { return }
        inode.writing = nil
        try update(inode)
        try becomeReady(id, settle: settle)
        guard let item = try item(of: id) else { return }
        if item.remoteVersion != item.baseVersion || (item.remote == nil && item.base != nil) {
            try reconcile([item.id], defaults: defaults)
        }
    }

    /// truncate(2), ftruncate(2), O_TRUNC: the catalog first, the bytes afterwards.
    ///
    /// - Parameter extents: which of the provider's bytes are still here, below the new base size.
    package func truncate(
        _ id: InodeID, to size: Int64, baseSize: Int64, extents: RangeSet<Int64>?, mark: WritingMark?,
        settle: Double
    ) throws -> InodeRecord {
        var inode = try inode(id)
        inode.size = size
        inode.baseSize = baseSize
        inode.extents = extents
        inode.modified = now
        inode.changed = now
        inode.writing = mark
        inode.mode &= ~killedBits(of: inode)
        try update(inode)
        try bumpContent(of: id, readyAt: mark == nil ? now.adding(seconds: settle) : .farFuture)
        return inode
    }

    /// Which of the set-id bits a write takes away (inode(7)).
    private func killedBits(of inode: InodeRecord) -> UInt32 {
        var bits: UInt32 = 0o4000
        if inode.mode & 0o010 != 0 { bits |= 0o2000 }
        return bits
    }

    private func bumpContent(of id: InodeID, readyAt: FileTime) throws {
        guard var item = try item(of: id) else { return }
        item.contentRevision += 1
        item.becomesReady(at: readyAt)
        try update(item)
    }

    /// What is here of the provider's bytes; only ranges that fdatasync(2) has made durable.
    package func recordExtents(_ id: InodeID, generation: Int64, extents: RangeSet<Int64>?) throws {
        guard var inode = try inodeIfPresent(id), inode.generation == generation else { return }
        inode.extents = extents
        try update(inode)
    }

    /// Pending changes may be sent now: `hydrant sync` does not wait for settle times.
    ///
    /// - Parameter retrying: failed ones as well, without waiting for their next try.
    package func settleNow(retrying: Bool) throws {
        try db.execute(
            sql: "UPDATE item SET ready_at = ? WHERE pending = 1 AND ready_at > ? AND ready_at < ?",
            arguments: [now.nanoseconds, now.nanoseconds, FileTime.farFuture.nanoseconds])
        guard retrying else { return }
        try db.execute(sql: "UPDATE item SET retry_at = 0 WHERE pending = 1 AND retry_at > 0")
    }
}

extension FileTime {
    /// Later than anything: a change that is not to be sent yet.
    package static let farFuture = FileTime(nanoseconds: .max)
}
