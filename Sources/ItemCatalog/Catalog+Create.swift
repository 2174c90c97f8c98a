package import FileProvider

/// What a program makes.
package struct NewFile: Sendable {
    package var kind: ItemKind
    package var mode: UInt32
    package var uid: UInt32
    package var gid: UInt32
    package init(kind: ItemKind, mode: UInt32, uid: UInt32, gid: UInt32) {
        self.kind = kind
        self.mode = mode
        self.uid = uid
        self.gid = gid
    }
}

extension Catalog.Writer {
    /// A new, empty document, folder or link. Its item is pending at once; a document carries a dirty
    /// mark until its writer is done.
    package func create(_ file: NewFile, in folder: InodeID, named name: Filename, settle: Double) throws
        -> InodeRecord
    {
        let parent = try livingFolder(folder)
        if try child(of: folder, named: name) != nil {
            throw CatalogError(.exists, "\(name): exists already")
        }
        guard let parentItem = try item(of: folder) else { throw CatalogError(.notFound, "\(folder) has no item") }
        var target: [UInt8]?
        if case .symbolicLink(let bytes) = file.kind { target = bytes }
        // A setgid folder hands its group down (BSD semantics, open(2)).
        let inheritsGroup = parent.mode & 0o2000 != 0
        let inode = try insert(
            InodeRecord(
                id: .root, kind: InodeKind(file.kind),
                mode: file.mode | (inheritsGroup && file.kind.isFolder ? 0o2000 : 0), uid: file.uid,
                gid: inheritsGroup ? parent.gid : file.gid, linkCount: file.kind.isFolder ? 2 : 1,
                size: Int64(target?.count ?? 0), accessed: now, modified: now, changed: now, born: now,
                target: target, generation: 1, baseSize: 0, extents: nil,
                writing: file.kind.isDocument ? .modified : nil, isEnumerated: file.kind.isFolder))
        try link(inode.id, in: folder, as: name)
        try touch(folder: folder, links: file.kind.isFolder ? 1 : 0)
        _ = try insert(
            ItemRecord.unconfirmed(
                inode: inode.id, kind: file.kind, at: TreePlace(parent: parentItem.id, name: name),
                readyAt: file.kind.isDocument ? .farFuture : now.adding(seconds: settle),
                isExcluded: parentItem.isExcluded))
        return inode
    }

    func livingFolder(_ id: InodeID) throws -> InodeRecord {
        let folder = try inode(id)
        guard folder.isFolder else { throw CatalogError(.notFolder, "\(id) is not a folder") }
        guard folder.linkCount > 0 else { throw CatalogError(.notFound, "the folder has been removed") }
        return folder
    }
}

extension ItemRecord {
    /// An item that exists on this machine only, so far.
    static func unconfirmed(
        inode: InodeID, kind: ItemKind, at place: TreePlace, readyAt: FileTime, isExcluded: Bool
    ) -> ItemRecord {
        ItemRecord(
            id: .root, inode: inode, identifier: nil, kind: kind, base: nil, baseVersion: nil, local: place,
            contentRevision: kind.isDocument ? 1 : 0, metadataRevision: 0, remote: nil, remoteVersion: nil,
            remoteFacts: RemoteFacts(size: 0, modified: readyAt, born: nil, mode: nil), readyAt: readyAt,
            failure: nil, sent: nil, isPinned: false, isExcluded: isExcluded)
    }

    /// A local change was made: failures of the one before no longer say anything.
    mutating func becomesReady(at moment: FileTime) {
        readyAt = moment
        failure = nil
    }

    /// The store has it no more (or must not be asked again): what is here is sent as something new.
    package mutating func becomesUnconfirmed(at moment: FileTime) {
        identifier = nil
        base = nil
        baseVersion = nil
        remote = nil
        remoteVersion = nil
        sent = nil
        if kind.isDocument { contentRevision = max(contentRevision, 1) }
        metadataRevision = 0
        becomesReady(at: moment)
    }
}
