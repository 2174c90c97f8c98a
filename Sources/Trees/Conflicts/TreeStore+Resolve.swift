import FileProvider

/// The effects of `hydrant resolve` on the trees, always in one transaction.
extension TreeStore {
    /// The copy's bytes become the original's next version: an ordinary change, with the original's version as its
    /// base. The copy's name is removed at once; its item in the store, once the change is there.
    ///
    /// - Throws: ``CatalogError/Code/incomplete(_:)`` when bytes of the copy must be downloaded first;
    ///   ``CatalogError/Code/beingWritten``; ``CatalogError/Code/notPermitted`` when either is no document.
    package func keepCopy(_ conflict: ConflictRecord) throws {
        guard var original = try item(conflict.original), let copyItem = try item(of: conflict.copy),
            let place = original.local, let oldID = original.inode, let copyPlace = copyItem.local,
            let folder = try item(place.parent)?.inode, let copyFolder = try item(copyPlace.parent)?.inode
        else { throw CatalogError(.notFound, "the original or the copy is gone") }
        var old = try inode(oldID)
        let copy = try inode(conflict.copy)
        for (item, inode) in [(original, old), (copyItem, copy)] {
            guard item.kind.isDocument, let name = item.local?.name else {
                throw CatalogError(
                    .notPermitted,
                    "\(item.local?.name ?? "it") is not a document; move or remove one version by hand, then --keep both"
                )
            }
            try requireUnwritten(inode, name)
        }
        if original.contentRevision != 0 {
            throw CatalogError(
                .notPermitted,
                "\(place.name) has changes of its own that are not in the store yet; run hydrant sync first")
        }
        if old.linkCount > 1, old.extents != nil {
            // Its other names keep the store's bytes, which this change would replace.
            throw CatalogError(.incomplete(old.id), "\(place.name): not all of its bytes are here")
        }
        if copy.extents != nil {
            throw CatalogError(.incomplete(copy.id), "\(copyPlace.name): not all of its bytes are here")
        }
        if copyItem.identifier != nil { try delayDeletion(of: copyItem.id, until: original.id) }
        var leaving = copyItem
        leaving.failure = nil
        try discardTemporary(leaving)
        try relink(place.name, in: folder, to: copy.id)
        try unlinkName(copyPlace.name, in: copyFolder)
        try touch(folder: folder)
        try touch(folder: copyFolder)
        old.linkCount -= 1
        old.changed = now
        try update(old)
        original.failure = nil
        try rebind(original, to: copy, of: leaving, at: place, settle: 0)
        try forgetConflict(conflict.id)
        changes += [
            .entry(folder: folder, name: place.name), .entry(folder: copyFolder, name: copyPlace.name),
            .attributes(folder), .attributes(copyFolder), .attributes(copy.id),
            old.linkCount == 0 ? .removed(old.id) : .attributes(old.id),
        ]
    }

    /// Removes the copy, here and in the store.
    package func removeCopy(_ conflict: ConflictRecord) throws {
        // If the original were gone by now, both versions would be lost.
        guard try conflicts(of: conflict.copy).contains(conflict) else {
            throw CatalogError(.notFound, "the original is gone; the copy is the only version left, and is kept")
        }
        guard let copyItem = try item(of: conflict.copy), let place = copyItem.local,
            let folder = try item(place.parent)?.inode
        else { throw CatalogError(.notFound, "the copy is gone") }
        let copy = try inode(conflict.copy)
        if copy.isFolder {
            throw CatalogError(
                .notPermitted, "\(place.name) is a folder; remove it with rm -r to resolve the conflict")
        }
        try requireUnwritten(copy, place.name)
        let left = try unlink(place.name, in: folder, settle: 0)
        try forgetConflict(conflict.id)
        changes += [.entry(folder: folder, name: place.name), .attributes(folder)]
        changes.append(left.linkCount == 0 ? .removed(copy.id) : .attributes(copy.id))
    }
}
