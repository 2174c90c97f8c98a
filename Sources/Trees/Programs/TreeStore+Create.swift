package import FileProvider

/// A file that a program creates.
package struct NewFile: Sendable {
    package var kind: InodeKind
    /// The kind for a provider; nil when no store has files of this kind.
    package var itemKind: ItemKind?
    package var device: UInt64 = 0
    package var mode: UInt32
    package var uid: UInt32
    package var gid: UInt32
    package init(kind: ItemKind, mode: UInt32, uid: UInt32, gid: UInt32) {
        self.kind = InodeKind(kind)
        self.itemKind = kind
        self.mode = mode
        self.uid = uid
        self.gid = gid
    }

    /// A pipe, a socket, a device.
    package init(special kind: InodeKind, device: UInt64, mode: UInt32, uid: UInt32, gid: UInt32) {
        self.kind = kind
        self.device = device
        self.mode = mode
        self.uid = uid
        self.gid = gid
    }
}

extension TreeStore {
    /// Creates an empty document, folder or link, or a special file. Its item is pending at once; a document that is
    /// `open` has a dirty mark until its writer is done. A document created at a place that another document has just
    /// given up is the next version of that document.
    ///
    /// - Parameter isExcluded: the item stays on this machine, whatever its name.
    package func create(
        _ file: NewFile, in folder: InodeID, named name: Filename, settle: Double, open: Bool = true,
        isExcluded: Bool = false
    ) throws -> InodeRecord {
        let parent = try livingFolder(folder)
        if try child(of: folder, named: name) != nil {
            throw CatalogError(.exists, "\(name): exists already")
        }
        guard let parentItem = try item(of: folder) else { throw CatalogError(.notFound, "\(folder) has no item") }
        let isFolder = file.kind == .folder
        let isWritten = file.kind == .document && open
        var target: [UInt8]?
        if case .symbolicLink(let bytes) = file.itemKind { target = bytes }
        // A setgid folder passes its group on (BSD semantics, open(2)).
        let inheritsGroup = parent.mode & 0o2000 != 0
        let inode = try insert(
            InodeRecord(
                id: .root, kind: file.kind, mode: file.mode | (inheritsGroup && isFolder ? 0o2000 : 0),
                uid: file.uid, gid: inheritsGroup ? parent.gid : file.gid, linkCount: isFolder ? 2 : 1,
                size: Int64(target?.count ?? 0), accessed: now, modified: now, changed: now, born: now,
                target: target, generation: 1, baseSize: 0, extents: nil, writing: isWritten ? .modified : nil,
                isEnumerated: isFolder, device: file.device))
        try link(inode.id, in: folder, as: name, number: numberInFront())
        try touch(folder: folder, links: isFolder ? 1 : 0)
        guard let kind = file.itemKind else { return inode }
        let place = TreePlace(parent: parentItem.id, name: name)
        if kind.isDocument, !isExcluded, let document = try vacatedDocument(place) {
            try rebind(document, to: inode, of: nil, at: place, settle: settle)
            return inode
        }
        _ = try insert(
            ItemRecord.unconfirmed(
                inode: inode.id, kind: kind, at: place, readyAt: readyTime(of: inode, nil, settle),
                isExcluded: isExcluded || self.isExcluded(name, in: parentItem)))
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
    /// An item that so far exists only on this machine.
    static func unconfirmed(
        inode: InodeID, kind: ItemKind, at place: TreePlace, readyAt: FileTime, isExcluded: Bool
    ) -> ItemRecord {
        ItemRecord(
            id: .root, inode: inode, identifier: nil, kind: kind, base: nil, baseVersion: nil, local: place,
            contentRevision: kind.isDocument ? 1 : 0, metadataRevision: 0, remote: nil, remoteVersion: nil,
            remoteFacts: RemoteFacts(size: 0, modified: readyAt, born: nil, mode: nil), readyAt: readyAt,
            failure: nil, sent: [], isPinned: false, isExcluded: isExcluded)
    }

    /// A local change was made: earlier failures no longer mean anything.
    mutating func becomesReady(at moment: FileTime) {
        readyAt = moment
        failure = nil
    }

    /// The item was changed, but not by a program that has it open. While a program is writing the document, its last
    /// close still decides when the change may be sent: a half-written document is never sent.
    mutating func becomesReadyUnlessWritten(at moment: FileTime) {
        becomesReady(at: readyAt == .farFuture ? .farFuture : moment)
    }

    /// The store no longer has the item, or must not be asked about it again: the local state is sent as a new item.
    package mutating func becomesUnconfirmed(at moment: FileTime) {
        identifier = nil
        base = nil
        baseVersion = nil
        remote = nil
        remoteVersion = nil
        remoteFacts.capabilities = .all
        sent = []
        attempted = nil
        heldSince = nil
        if kind.isDocument, contentRevision == 0 { contentRevision = max(1, moment.nanoseconds) }
        becomesReadyUnlessWritten(at: moment)
    }
}
