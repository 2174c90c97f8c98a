package import FileProvider

extension TreeStore {
    /// Sets the dirty mark, which is durable before a writer's first byte.
    ///
    /// `.modified` also makes the change pending (but not ready: the program is still writing).
    /// - Throws: ``CatalogError/Code/replaced`` when the bytes are another generation by now.
    package func beginWriting(_ id: InodeID, generation: Int64, mark: WritingMark) throws {
        var inode = try inode(id)
        guard inode.generation == generation else { throw CatalogError(.replaced, "the contents were replaced") }
        if inode.writing == .modified { return }
        inode.writing = mark
        try update(inode)
        if mark == .modified {
            try outdateSynced(id)
            if inode.splitFrom != nil { _ = try nameSplit(inode) }
            try bumpContent(of: id, readyAt: .farFuture)
        }
    }

    /// A daemon was killed between setting the dirty mark and the first byte: no bytes of the document are here, and
    /// its size is that of the provider's version. Then there is no change, and nothing may wait for bytes that the
    /// store may not have any more.
    ///
    /// - Returns: whether this was the case.
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

    /// The bytes have changed to this state. Makes the change pending; when this returns the change cannot be lost.
    ///
    /// - Parameters:
    ///   - changed: when the last of the bytes came; nil: now. The ctime does not go back.
    ///   - mark: the new dirty mark; nil when the last writer is done.
    ///   - settle: seconds from now until the change may be sent; nil: not before the last writer is done.
    ///   - generation: the generation that was written; nil: the current one.
    ///   - killsPrivileges: the writer may not keep setuid and the like.
    /// - Throws: ``CatalogError/Code/replaced`` when the bytes are another generation by now.
    @discardableResult
    package func recordWritten(
        _ id: InodeID, generation: Int64? = nil, size: Int64, modified: FileTime, changed: FileTime? = nil,
        mark: WritingMark?, settle: Double?, killsPrivileges: Bool = false
    ) throws -> InodeRecord {
        var inode = try inode(id)
        guard inode.generation == generation ?? inode.generation else {
            throw CatalogError(.replaced, "the contents were replaced")
        }
        if inode.splitFrom != nil { inode = try nameSplit(inode) }
        if killsPrivileges { try killPrivileges(&inode) }
        // If only the ctime differs, perhaps because of a label, the bytes are still those that were synced.
        if try !isNotedSynced(id, size: size, modified: modified.nanoseconds) { try outdateSynced(id) }
        inode.size = size
        inode.modified = modified
        inode.changed = changed.map { inode.changed(after: $0, now: now) } ?? now
        inode.writing = mark
        try update(inode)
        try bumpContent(of: id, readyAt: settle.map(now.adding(seconds:)) ?? .farFuture)
        return inode
    }

    /// The recorded state may be sent although the program goes on writing (fsync(2)).
    package func becomeReady(_ id: InodeID, settle: Double) throws {
        guard var item = try item(of: id), item.readyAt == .farFuture else { return }
        item.becomesReady(at: now.adding(seconds: settle))
        try update(item)
    }

    /// Sets another dirty mark without making a change.
    package func remark(_ id: InodeID, _ mark: WritingMark) throws {
        guard var inode = try inodeIfPresent(id), inode.writing != nil else { return }
        inode.writing = mark
        try update(inode)
    }

    /// The last writer is done, and its changes have been recorded. Takes a change of the provider that had to wait for
    /// the writer.
    ///
    /// - Parameters:
    ///   - settle: seconds until the change may be sent; nil: not yet.
    ///   - mapped: the state of a file that a program may still change through a mapping: the file stays marked.
    package func endWriting(
        _ id: InodeID, settle: Double?, defaults: PlaceholderDefaults, mapped: BackingStamp? = nil
    ) throws {
        guard var inode = try inodeIfPresent(id), inode.writing != nil else { return }
        inode.writing = mapped.map { .maybeModified($0) }
        try update(inode)
        if let settle { try becomeReady(id, settle: settle) }
        try takeWaitingChange(of: id, defaults: defaults)
    }

    /// The last writer is done: takes a change of the provider that had to wait for the writer.
    package func takeWaitingChange(of id: InodeID, defaults: PlaceholderDefaults) throws {
        guard let item = try item(of: id) else { return }
        if item.remoteVersion != item.baseVersion || (item.remote == nil && item.base != nil) {
            // A mapped file is not split here: the caller may hold the node.
            let linkContents = transaction.linkContents
            transaction.linkContents = nil
            defer { transaction.linkContents = linkContents }
            try reconcile([item.id], defaults: defaults)
        }
    }

    /// truncate(2), ftruncate(2), O_TRUNC: changes the catalog first, the bytes afterwards.
    ///
    /// - Parameter extents: the provider's bytes that are still here, below the new base size.
    package func truncate(
        _ id: InodeID, generation: Int64? = nil, to size: Int64, baseSize: Int64, extents: RangeSet<Int64>?,
        mark: WritingMark?, settle: Double, killsPrivileges: Bool = false
    ) throws -> InodeRecord {
        var inode = try inode(id)
        guard inode.generation == generation ?? inode.generation else {
            throw CatalogError(.replaced, "the contents were replaced")
        }
        if inode.splitFrom != nil { inode = try nameSplit(inode) }
        try outdateSynced(id)
        let wasPartial = inode.extents != nil
        inode.size = size
        inode.baseSize = baseSize
        inode.extents = extents
        inode.modified = now
        inode.changed = now
        // When the writer has only a mapping left, any later state of the file counts as its change. Nobody maps a
        // partial document, and its file may have holes past this size.
        inode.writing = mark ?? inode.writing.map { _ in wasPartial ? .maybeModified(.none) : .modified }
        if killsPrivileges { try killPrivileges(&inode) } else { try dropCapabilities(of: id) }
        try update(inode)
        try bumpContent(of: id, readyAt: mark == nil ? now.adding(seconds: settle) : .farFuture)
        return inode
    }

    /// A write without CAP_FSETID removes setuid, setgid of a group-executable file (inode(7)), and capabilities.
    func killPrivileges(_ inode: inout InodeRecord) throws {
        var bits: UInt32 = 0o4000
        if inode.mode & 0o010 != 0 { bits |= 0o2000 }
        inode.mode &= ~bits
        try dropCapabilities(of: inode.id)
    }

    /// For a write that changes nothing else.
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

    /// Adds the provider's bytes that are on this machine to the recorded ranges: another caller may have recorded its
    /// own meanwhile. For an unmodified document, only ranges that fdatasync(2) has made durable.
    ///
    /// - Returns: false when the bytes do not belong to this inode any more.
    @discardableResult
    package func recordExtents(_ id: InodeID, generation: Int64, extents: RangeSet<Int64>?) throws -> Bool {
        guard var inode = try inodeIfPresent(id), inode.generation == generation else { return false }
        guard let known = inode.extents else { return true }
        let base = RangeSet(0..<inode.baseSize)
        let all = extents.map { known.union($0).intersection(base) }
        inode.extents = all.flatMap { $0.isSuperset(of: base) ? nil : $0 }
        if inode.extents != known {
            try update(inode)
            // (Also for a program's bytes: a sync before says nothing of these.)
            try noteUndurable(id, generation: generation)
        }
        return true
    }

    /// The provider's bytes in these ranges are not here any more.
    ///
    /// - Returns: false when the bytes no longer belong to a document, or all of them are here.
    package func forgetExtents(_ id: InodeID, generation: Int64, _ gone: RangeSet<Int64>) throws -> Bool {
        guard var inode = try inodeIfPresent(id), inode.generation == generation, let known = inode.extents
        else { return false }
        inode.extents = known.subtracting(gone)
        if inode.extents != known { try update(inode) }
        return true
    }
}

extension InodeRecord {
    /// The ctime after a change at this moment: it does not go back, unless it lies in the future, which is of a clock that
    /// was wrong.
    package func changed(after moment: FileTime, now: FileTime) -> FileTime {
        changed > now ? moment : max(changed, moment)
    }
}

extension FileTime {
    /// Later than any other moment: for a change that must not be sent yet.
    package static let farFuture = FileTime(nanoseconds: .max)
    static let distantPast = FileTime(nanoseconds: .min)

    /// At most ``farFuture``.
    package func adding(seconds: Double) -> FileTime {
        let (sum, isTooMuch) = nanoseconds.addingReportingOverflow(Int64(seconds * 1e9))
        return isTooMuch ? .farFuture : FileTime(nanoseconds: sum)
    }
}
