import FileProvider

/// A document gets a new generation while a program has the old one open for writing. The program keeps the old bytes,
/// in a separate inode; when the program changes them they become a conflicted copy.
extension TreeStore {
    /// Moves the current bytes of a document, and the program that is writing them, to a new inode. The document is
    /// then free for a new generation.
    ///
    /// - Returns: nil when the bytes cannot be separated here (no `linkContents`).
    func split(_ row: inout ItemRecord, _ inode: inout InodeRecord) throws -> InodeID? {
        guard let linkContents = transaction.linkContents else { return nil }
        var old = inode
        old.linkCount = 0
        old.generation = 1
        old.splitFrom = row.id
        old = try insert(old)
        try copyAttributes(of: inode.id, to: old.id)
        try linkContents(inode.id, inode.generation, old.id)
        changes.append(.split(inode.id, to: old.id))
        if row.contentRevision != 0 { old = try nameSplit(old) }
        inode.writing = nil
        row.contentRevision = 0
        row.becomesReady(at: now)
        return old.id
    }

    /// A program has changed the bytes of an old generation: the inode gets a name beside the document.
    func nameSplit(_ inode: InodeRecord) throws -> InodeRecord {
        guard let document = inode.splitFrom else { return inode }
        var inode = inode
        let place = try item(document).flatMap { $0.local ?? $0.base }
        // If even the folder is gone, use the root.
        var parent = try place.flatMap { try item($0.parent) }
        if parent?.inode == nil { parent = try item(.root) }
        guard let parent, let folder = parent.inode else { return inode }
        let name = try unusedName(like: place?.name ?? "document", in: folder)
        try link(inode.id, in: folder, as: name)
        try touch(folder: folder)
        inode.linkCount = 1
        inode.splitFrom = nil
        try update(inode)
        let copy = try insert(
            ItemRecord.unconfirmed(
                inode: inode.id, kind: .document, at: TreePlace(parent: parent.id, name: name), readyAt: .farFuture,
                isExcluded: parent.isExcluded))
        try moveDelayedDeletions(from: document, to: copy.id)
        changes.append(.entry(folder: folder, name: name))
        changes.append(.attributes(folder))
        changes.append(.conflict(inode.id))
        try recordConflict(original: document, copy: inode.id, .replacedWhileWritten)
        return inode
    }
}
