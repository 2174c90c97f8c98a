package import FileProvider

/// Attribute changes of setattr(2) and its relatives; nil: unchanged.
package struct AttributeChange: Sendable {
    package var mode: UInt32?
    package var uid: UInt32?
    package var gid: UInt32?
    package var accessed: FileTime?
    package var modified: FileTime?
    package init(
        mode: UInt32? = nil, uid: UInt32? = nil, gid: UInt32? = nil, accessed: FileTime? = nil,
        modified: FileTime? = nil
    ) {
        self.mode = mode
        self.uid = uid
        self.gid = gid
        self.accessed = accessed
        self.modified = modified
    }

    package var isEmpty: Bool { mode == nil && uid == nil && gid == nil && accessed == nil && modified == nil }

    /// Owner and mode stay as they are.
    package func setsDatesOnly(of inode: InodeRecord) -> Bool {
        (mode ?? inode.mode) & 0o7777 == inode.mode && inode.hiddenMode == 0 && (uid ?? inode.uid) == inode.uid
            && (gid ?? inode.gid) == inode.gid
    }
}

extension TreeStore {
    /// chmod(2), chown(2), utimensat(2). Mode and modification time are sent to the provider too.
    ///
    /// - Parameter changed: the new ctime; nil: now.
    package func setAttributes(
        _ id: InodeID, to change: AttributeChange, changed: FileTime? = nil, settle: Double
    ) throws -> InodeRecord {
        var inode = try inode(id)
        let before = inode
        // Keep the bits that capabilities hide: the program that calls chmod(2) cannot see them.
        let hidden = inode.hiddenMode
        if let mode = change.mode, mode & hidden != 0 {
            throw CatalogError(
                .notAllowed,
                "the store does not permit the access that mode \(String(mode & 0o7777, radix: 8)) would allow")
        }
        if let mode = change.mode { inode.mode = (mode & 0o7777 & ~hidden) | (inode.mode & hidden) }
        if let uid = change.uid { inode.uid = uid }
        if let gid = change.gid { inode.gid = gid }
        if let accessed = change.accessed { inode.accessed = accessed }
        if let modified = change.modified { inode.modified = modified }
        inode.changed = changed ?? now
        try update(inode)
        if inode.mode != before.mode || inode.modified != before.modified, id != .root {
            try bumpMetadata(of: id, settle: settle)
        }
        return inode
    }

    /// Mode, modification time or attributes changed on this machine.
    func bumpMetadata(of id: InodeID, settle: Double) throws {
        guard var item = try item(of: id), !item.isExcluded else { return }
        item.metadataRevision = nextRevision(after: item.metadataRevision)
        // While a program is writing, its last close decides when the change is ready.
        if item.readyAt != .farFuture { item.becomesReady(at: now.adding(seconds: settle)) }
        try update(item)
    }

    /// The store has, or will get, another mode or date for the item than this machine: sends the local ones when
    /// allowed.
    package func metadataIsUnsent(_ id: ItemID) throws {
        guard id != .root, var item = try item(id), item.local != nil, !item.isExcluded, item.metadataRevision == 0
        else {
            return
        }
        item.metadataRevision = nextRevision(after: 0)
        try update(item)
    }

    /// Drops the bytes of an unmodified document, which becomes a placeholder with a new generation. Returns the
    /// generation whose bytes the caller may remove.
    package func evict(_ id: InodeID) throws -> Int64 {
        var inode = try inode(id)
        let old = inode.generation
        inode.generation += 1
        inode.baseSize = inode.size
        inode.extents = inode.size == 0 ? nil : RangeSet()
        try update(inode)
        changes.append(.contents(id))
        return old
    }
}
