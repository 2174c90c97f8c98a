package import FileProvider

/// What a program makes.
package struct NewFile: Sendable {
    package var kind: InodeKind
    /// As a provider sees it; nil for what no store has.
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
    /// A new, empty document, folder or link, or a special file. Its item is pending at once; a document that is
    /// `open` carries a dirty mark until its writer is done. A document in the place that another has just given
    /// up is that one's next version.
    ///
    /// - Parameter isExcluded: whatever its name says, it stays on this machine.
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
        // A setgid folder hands its group down (BSD semantics, open(2)).
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
    /// An item that exists on this machine only, so far.
    static func unconfirmed(
        inode: InodeID, kind: ItemKind, at place: TreePlace, readyAt: FileTime, isExcluded: Bool
    ) -> ItemRecord {
        ItemRecord(
            id: .root, inode: inode, identifier: nil, kind: kind, base: nil, baseVersion: nil, local: place,
            contentRevision: kind.isDocument ? 1 : 0, metadataRevision: 0, remote: nil, remoteVersion: nil,
            remoteFacts: RemoteFacts(size: 0, modified: readyAt, born: nil, mode: nil), readyAt: readyAt,
            failure: nil, sent: [], isPinned: false, isExcluded: isExcluded)
    }

    /// A local change was made: failures of the one before no longer say anything.
    mutating func becomesReady(at moment: FileTime) {
        readyAt = moment
        failure = nil
    }

    /// Something was done to it that none of its programs did. One that is writing it still says when it may be sent: what
    /// is half-written never is.
    mutating func becomesReadyUnlessWritten(at moment: FileTime) {
        becomesReady(at: readyAt == .farFuture ? .farFuture : moment)
    }

    /// The store has it no more (or must not be asked again): what is here is sent as something new.
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
