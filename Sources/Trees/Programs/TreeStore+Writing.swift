package import FileProvider

extension TreeStore {
    /// The dirty mark, durable before a writer's first byte.
    ///
    /// `.modified` makes the change pending as well (not ready: the writer is still at work).
    /// - Throws: ``CatalogError/Code/replaced`` when the bytes are another generation by now.
    package func beginWriting(_ id: InodeID, generation: Int64, mark: WritingMark) throws {
        var inode = try inode(id)
        guard inode.generation == generation else { throw CatalogError(.replaced, "the contents were replaced") }
        if inode.writing == .modified { return }
        inode.writing = mark
        try update(inode)
        if mark == .modified {
            try forgetSynced(id)
            if inode.splitFrom != nil { _ = try nameSplit(inode) }
            try bumpContent(of: id, readyAt: .farFuture)
        }
    }

    /// A writer was marked and killed before its first byte: nothing of the document is here, and it is as long as the
    /// provider's version. There is no change then, and none is to wait for bytes that the store may not have any more.
    ///
    /// - Returns: whether it is so.
    package func takeBackUnwritten(_ id: InodeID) throws -> Bool {
        let inode = try inode(id)
        guard inode.writing == .modified, inode.extents?.isEmpty == true, inode.size == inode.baseSize,
            inode.splitFrom == nil, var item = try item(of: id), item.identifier != nil, item.sent.isEmpty,
            item.remoteVersion == item.baseVersion, item.remoteFacts.size == inode.size
        else { return false }
        item.contentRevision = 0
        item.becomesReady(at: now)
        try update(item)
        return true
    }

    /// The bytes changed and this is their state now. Makes the change pending; when it returns the
    /// change is not lost any more.
    ///
    /// - Parameters:
    ///   - mark: what stays: nil when the last writer is done.
    ///   - settle: seconds from now until it may be sent; nil: not before the last writer is done.
    ///   - generation: of the bytes that were written; nil: the current one.
    ///   - killsPrivileges: the writer may not keep setuid and the like.
    /// - Throws: ``CatalogError/Code/replaced`` when the bytes are another generation by now.
    @discardableResult
    package func recordWritten(
        _ id: InodeID, generation: Int64? = nil, size: Int64, modified: FileTime, mark: WritingMark?, settle: Double?,
        killsPrivileges: Bool = false
    ) throws -> InodeRecord {
        var inode = try inode(id)
        guard inode.generation == generation ?? inode.generation else {
            throw CatalogError(.replaced, "the contents were replaced")
        }
        if inode.splitFrom != nil { inode = try nameSplit(inode) }
        if killsPrivileges { try killPrivileges(&inode) }
        // With another ctime only, of a label perhaps, the bytes are those that were synced.
        if try !isNotedSynced(id, size: size, modified: modified.nanoseconds) { try forgetSynced(id) }
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

    /// Another dirty mark, and no change besides.
    package func remark(_ id: InodeID, _ mark: WritingMark) throws {
        guard var inode = try inodeIfPresent(id), inode.writing != nil else { return }
        inode.writing = mark
        try update(inode)
    }

    /// The last writer is done, and what it changed has been recorded. A change of the provider's that
    /// had to wait for it is taken now.
    ///
    /// - Parameters:
    ///   - settle: seconds until the change may be sent; nil: not yet.
    ///   - mapped: the state of a file that somebody may still change through a mapping: it stays marked.
    package func endWriting(
        _ id: InodeID, settle: Double?, defaults: PlaceholderDefaults, mapped: BackingStamp? = nil
    ) throws {
        guard var inode = try inodeIfPresent(id), inode.writing != nil else { return }
        inode.writing = mapped.map { .maybeModified($0) }
        try update(inode)
        if let settle { try becomeReady(id, settle: settle) }
        guard let item = try item(of: id) else { return }
        if item.remoteVersion != item.baseVersion || (item.remote == nil && item.base != nil) {
            // What is still mapped is not split here: the caller may hold the node.
            let linkContents = transaction.linkContents
            transaction.linkContents = nil
            defer { transaction.linkContents = linkContents }
            try reconcile([item.id], defaults: defaults)
        }
    }

    /// truncate(2), ftruncate(2), O_TRUNC: the catalog first, the bytes afterwards.
    ///
    /// - Parameter extents: which of the provider's bytes are still here, below the new base size.
    package func truncate(
        _ id: InodeID, generation: Int64? = nil, to size: Int64, baseSize: Int64, extents: RangeSet<Int64>?,
        mark: WritingMark?, settle: Double, killsPrivileges: Bool = false
    ) throws -> InodeRecord {
        var inode = try inode(id)
        guard inode.generation == generation ?? inode.generation else {
            throw CatalogError(.replaced, "the contents were replaced")
        }
        if inode.splitFrom != nil { inode = try nameSplit(inode) }
        try forgetSynced(id)
        let wasPartial = inode.extents != nil
        inode.size = size
        inode.baseSize = baseSize
        inode.extents = extents
        inode.modified = now
        inode.changed = now
        // Where only a mapping is left of the writer, any later state of the file counts as changed by it.
        // (Of a partial document nobody has one, and what its file has behind this size may be holes.)
        inode.writing = mark ?? inode.writing.map { _ in wasPartial ? .maybeModified(.none) : .modified }
        if killsPrivileges { try killPrivileges(&inode) } else { try dropCapabilities(of: id) }
        try update(inode)
        try bumpContent(of: id, readyAt: mark == nil ? now.adding(seconds: settle) : .farFuture)
        return inode
    }

    /// What a write by somebody without CAP_FSETID takes away: setuid, setgid of what its group may execute
    /// (inode(7)), capabilities.
    func killPrivileges(_ inode: inout InodeRecord) throws {
        var bits: UInt32 = 0o4000
        if inode.mode & 0o010 != 0 { bits |= 0o2000 }
        inode.mode &= ~bits
        try dropCapabilities(of: inode.id)
    }

    /// The same for a write that changes nothing else.
    package func killPrivileges(of id: InodeID) throws {
        var inode = try inode(id)
        let before = inode.mode
        try killPrivileges(&inode)
        guard inode.mode != before else { return }
        inode.changed = now
        try update(inode)
        try bumpMetadata(of: id, settle: 0)
    }

    private func bumpContent(of id: InodeID, readyAt: FileTime) throws {
        guard var item = try item(of: id) else { return }
        item.contentRevision = nextRevision(after: item.contentRevision)
        item.becomesReady(at: readyAt)
        try update(item)
    }

    /// What is here of the provider's bytes, besides what is known to be: who says so may have looked before another
    /// who has said it already. Of an unmodified document only ranges that fdatasync(2) has made durable.
    ///
    /// - Returns: false when the bytes are not this inode's any more.
    @discardableResult
    package func recordExtents(_ id: InodeID, generation: Int64, extents: RangeSet<Int64>?) throws -> Bool {
        guard var inode = try inodeIfPresent(id), inode.generation == generation else { return false }
        guard let known = inode.extents else { return true }
        let base = RangeSet(0..<inode.baseSize)
        let all = extents.map { known.union($0).intersection(base) }
        inode.extents = all.flatMap { $0.isSuperset(of: base) ? nil : $0 }
        if inode.extents != known { try update(inode) }
        return true
    }
}

extension FileTime {
    /// Later than anything: a change that is not to be sent yet.
    package static let farFuture = FileTime(nanoseconds: .max)
    static let distantPast = FileTime(nanoseconds: .min)

    /// ``farFuture`` at most.
    package func adding(seconds: Double) -> FileTime {
        let (sum, isTooMuch) = nanoseconds.addingReportingOverflow(Int64(seconds * 1e9))
        return isTooMuch ? .farFuture : FileTime(nanoseconds: sum)
    }
}
