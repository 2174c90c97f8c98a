package import FileProvider

/// A local change that is to be discarded, and what is lost with it.
package struct Discard: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        /// The store never had the item: it is removed.
        case creation
        /// The store's contents are shown again.
        case contents
        /// The item moves back to its place in the store.
        case move
        /// The store's mode, dates and attributes are shown again.
        case metadata
        /// The deleted item is shown again.
        case deletion
    }
    package var kinds: [Kind]
    /// Nil: a file that no store can hold, in a folder that is removed.
    package var item: ItemID?
    /// Nil: the item has been deleted on this machine.
    package var inode: InodeID?
    /// From the root, with the local names; for a deleted item, its last path.
    package var path: [Filename]
    /// The number of bytes that are lost with the change; as far as is known they exist only on this machine.
    package var bytes: Int64
    /// The revisions that this was computed for: any later change has other numbers.
    package var revisions: [Int64]
}

/// Finds out what discarding a change would do.
extension TreeReading {
    /// The item at a path: the one there now, or else a deleted one that is still in the store.
    package func itemOrTombstone(at names: [Filename]) throws -> ItemRecord? {
        guard var current = try item(.root) else { return nil }
        for name in names {
            let inode = try current.inode.flatMap { try child(of: $0, named: name) }
            if let inode {
                guard let next = try item(of: inode.id) else { return nil }
                current = next
            } else {
                guard let next = try tombstones(in: current.id).first(where: { $0.base?.name == name }) else {
                    return nil
                }
                current = next
            }
        }
        return current
    }

    /// The names from the root to an item; for a deleted item, its last path.
    package func path(of item: ItemRecord) throws -> [Filename] {
        var names: [Filename] = []
        var current: ItemRecord? = item
        while let row = current, row.id != .root, names.count < 4_096 {
            guard let place = row.local ?? row.base ?? row.remote else { break }
            names.append(place.name)
            current = try self.item(place.parent)
        }
        return names.reversed()
    }

    /// The consequences of discarding an item's local change, in the order in which they can be applied. A folder that
    /// the store never had is removed with its content. A deleted folder comes back with its content, and a deleted
    /// item with the deleted folders above it.
    ///
    /// - Throws: ``CatalogError/Code/notPermitted`` when there is nothing to discard, or it cannot be discarded now.
    package func discards(of id: ItemID) throws -> [Discard] {
        guard let row = try item(id), id != .root else {
            throw CatalogError(.notPermitted, "the root folder has no change to discard")
        }
        let name = (row.local ?? row.base ?? row.remote)?.name ?? "it"
        if row.isExcluded {
            throw CatalogError(.notPermitted, "\(name) lives on this machine only; remove it if it is not wanted")
        }
        if row.local == nil { return try restorations(of: row) }
        if row.identifier == nil || row.remote == nil { return try removals(of: row) }
        var kinds: [Discard.Kind] = []
        if row.kind.isDocument, row.contentRevision != 0 { kinds.append(.contents) }
        if row.local != row.base { kinds.append(.move) }
        if row.metadataRevision != 0 { kinds.append(.metadata) }
        guard !kinds.isEmpty, let inode = try row.inode.map({ try inode($0) }) else {
            throw CatalogError(
                .notPermitted,
                row.kind.isFolder
                    ? "\(name) has no change of its own; name the changed items in it"
                    : "\(name) has no change to discard")
        }
        try requireDiscardable(row, inode)
        return [
            Discard(
                kinds: kinds, item: row.id, inode: inode.id, path: try path(of: row),
                bytes: kinds.contains(.contents) ? inode.bytesPresent : 0,
                revisions: [row.contentRevision, row.metadataRevision, inode.generation])
        ]
    }

    private func requireDiscardable(_ row: ItemRecord, _ inode: InodeRecord) throws {
        let name = row.local?.name ?? "it"
        try requireUnwritten(inode, name)
        guard row.local != row.base, let place = row.remote else { return }
        guard let parent = try item(place.parent), let folder = parent.inode,
            let record = try inodeIfPresent(folder), record.linkCount > 0
        else {
            throw CatalogError(
                .notPermitted,
                "\(name) came from a folder that was deleted here; discard the deletion of that folder first")
        }
        if let occupant = try child(of: folder, named: place.name), occupant.id != inode.id {
            throw CatalogError(
                .notPermitted,
                "\(name) was called \(place.name), and another item has that name now; move that item first")
        }
        if inode.isFolder, try isInside(folder, inode.id) {
            throw CatalogError(
                .notPermitted, "\(name) came from a folder that is inside it now; move that folder out first")
        }
    }

    /// A document that a program is writing must not be discarded.
    func requireUnwritten(_ inode: InodeRecord, _ name: Filename) throws {
        if inode.writing != nil {
            throw CatalogError(
                .beingWritten, "\(name) is open for writing in a program, or mapped by one; close it first")
        }
    }

    // MARK: Removals

    /// The removal of an item that the store never had, after the removals of all items in it.
    private func removals(of row: ItemRecord) throws -> [Discard] {
        guard let id = row.inode else { return [] }
        let path = try path(of: row)
        return try removals(of: try inode(id), row, path, below: path)
    }

    private func removals(
        of inode: InodeRecord, _ row: ItemRecord?, _ path: [Filename], below top: [Filename]
    ) throws -> [Discard] {
        let name = path.last ?? "it"
        if let row, row.identifier != nil, row.remote != nil {
            throw CatalogError(
                .notPermitted, "\(name) is in the store, and would be removed with its folder; move it out first")
        }
        try requireUnwritten(inode, name)
        if path.count > top.count, !inode.isFolder, inode.linkCount > 1 {
            // All names of the inode would be removed, including names outside that nobody has agreed to.
            for place in try places(of: inode.id) where try self.path(of: place.folder)?.starts(with: top) != true {
                throw CatalogError(
                    .notPermitted,
                    "\(name) has another name outside of \(top.last ?? "it"); remove one of the names by hand"
                )
            }
        }
        var all: [Discard] = []
        if inode.isFolder {
            var cookie: Int64 = 0
            while let entries = try nextEntries(inode.id, cookie) {
                cookie = entries.last!.cookie
                for entry in entries {
                    let inner = try item(of: entry.inode.id)
                    all += try removals(of: entry.inode, inner, path + [entry.name], below: top)
                }
            }
        }
        all.append(
            Discard(
                kinds: [.creation], item: row?.id, inode: inode.id, path: path,
                bytes: inode.kind == .document ? inode.bytesPresent : 0,
                revisions: [row?.contentRevision ?? 0, row?.metadataRevision ?? 0, inode.generation]))
        return all
    }

    private func nextEntries(_ folder: InodeID, _ cookie: Int64) throws -> [FolderEntry]? {
        let entries = try children(of: folder, after: cookie, limit: 500)
        return entries.isEmpty ? nil : entries
    }

    // MARK: Restorations

    private func restorations(of row: ItemRecord) throws -> [Discard] {
        guard row.identifier != nil, let place = row.remote else {
            throw CatalogError(.notPermitted, "the store does not have the item either; there is nothing to restore")
        }
        var above: [ItemRecord] = []
        var parent = try item(place.parent)
        while let folder = parent, folder.local == nil, above.count < 4_096 {
            above.append(folder)
            parent = try folder.remote.flatMap { try item($0.parent) }
        }
        guard let top = parent?.inode else {
            throw CatalogError(.notPermitted, "the folder of the item is gone from the store as well")
        }
        let first = above.last ?? row
        if let name = first.remote?.name, try child(of: top, named: name) != nil {
            throw CatalogError(.notPermitted, "another item is called \(name) now; move that item first")
        }
        return try (above.reversed() + [row] + below(row)).map { item in
            Discard(
                kinds: [.deletion], item: item.id, inode: nil, path: try path(of: item), bytes: 0, revisions: [])
        }
    }

    private func below(_ folder: ItemRecord) throws -> [ItemRecord] {
        guard folder.kind.isFolder else { return [] }
        return try tombstones(in: folder.id).flatMap { try [$0] + below($0) }
    }
}
