package import FileProvider
import Glibc
import ItemCatalog
import Locking
import SyncEngine
package import Trees

/// A name that was looked up, with one more reference on its node (until forget).
package struct Lookup: Sendable {
    package var node: NodeID
    package var attributes: NodeAttributes
}

extension Volume {
    /// Nil: the folder certainly has no such name.
    package func lookUp(_ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Lookup?> {
        try check(name)
        try refuseSignedOut()
        let parent = try node(folder)
        return try answer {
            let moment = moment
            let closed = closedWriters.waiting
            var found = try catalog.peek { reader in
                if let child = try reader.child(of: parent.inode, named: name) { return child as InodeRecord? }
                let record = try reader.inode(parent.inode)
                guard record.isFolder else { throw CatalogError(.notFolder, "not a folder") }
                if !record.isEnumerated { throw CatalogError(.notEnumerated(parent.inode), "not listed yet") }
                return nil
            }
            if found != nil { closed.show(in: &found!) }
            return .ready(found.map { reference($0, asOf: moment) })
        }
    }

    /// Takes a reference on the inode's node.
    ///
    /// - Parameter moment: when the record was read, if the provider may have changed it since.
    package func reference(_ record: InodeRecord, asOf moment: UInt64? = nil) -> Lookup {
        let (id, node, replaced) = table.reference(record.id, generation: record.generation) {
            rebase($0, on: record)
        }
        if let replaced { freeze(replaced, as: record) }
        var record = record
        if let node, node.withLock({ $0.generation > record.generation }),
            let now = try? catalog.read({ try $0.inode(record.id) })
        {
            record = now
        }
        var attributes = node.map { self.attributes(record, $0) } ?? attributes(ofUnused: record)
        // A program opened it just now.
        if node == nil, let node = table.made(id) { attributes = self.attributes(record, node) }
        // Asked when the node is in the table: the kernel is told of later changes.
        if let moment, moment != self.moment { attributes.isStable = false }
        return Lookup(node: id, attributes: attributes)
    }

    /// The kernel gives up references, of its own accord.
    package func kernelForgets(_ id: NodeID, count: UInt64) {
        if let inode = table.forget(id, count: count) { reclaimLater(inode) }
        for folder in keptListings.forgot(id) { kernel.invalidateContents(of: folder) }
    }

    /// The kernel gives up references, or did not get them.
    package func forget(_ id: NodeID, count: UInt64) {
        if let inode = table.forget(id, count: count) { reclaim(inode) }
    }

    package func makeFolder(
        _ name: Filename, in folder: NodeID, mode: UInt32, uid: UInt32, gid: UInt32
    ) throws(VolumeError) -> Outcome<Lookup> {
        try make(NewFile(kind: .folder, mode: mode & 0o7777, uid: uid, gid: gid), name, in: folder)
    }

    package func makeLink(
        _ name: Filename, in folder: NodeID, target: [UInt8], uid: UInt32, gid: UInt32
    ) throws(VolumeError) -> Outcome<Lookup> {
        try make(NewFile(kind: .symbolicLink(target: target), mode: 0o777, uid: uid, gid: gid), name, in: folder)
    }

    func make(_ file: NewFile, _ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Lookup> {
        let parent = try checkedParent(folder, name)
        try refuseTrash(name, in: parent)
        return try answer {
            let record = try saving {
                try $0.requireListing(parent.inode)
                try $0.requireMayAdd(name, to: parent.inode, staysHere: file.itemKind == nil)
                return try $0.create(file, in: parent.inode, named: name, settle: times.settle, open: false)
            }
            engine.changed()
            return .ready(reference(record))
        }
    }

    /// Programs go on with the documents that they have open; nobody gets anything else.
    func refuseSignedOut() throws(VolumeError) {
        if engine.switches.isMasked { throw VolumeError(EACCES, "the user has signed out") }
    }

    func checkedParent(_ folder: NodeID, _ name: Filename) throws(VolumeError) -> Node {
        try check(name)
        try refuseSignedOut()
        if let problem = name.problem { throw VolumeError(EINVAL, problem) }
        return try node(folder)
    }

    package func readLink(_ id: NodeID) throws(VolumeError) -> [UInt8] {
        let record = try attributes(of: id).record
        guard let target = record.target else { throw VolumeError(EINVAL, "not a symbolic link") }
        return target
    }

    package func unlink(_ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Void> {
        let parent = try checkedParent(folder, name)
        return try answer {
            let record = try catalog.write {
                try $0.requireMayRemove(name, in: parent.inode)
                return try $0.unlink(name, in: parent.inode, settle: times.settle)
            }
            lostName(record)
            return .ready(())
        }
    }

    package func removeFolder(_ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Void> {
        let parent = try checkedParent(folder, name)
        return try answer {
            let record = try catalog.write {
                try $0.requireMayRemove(name, in: parent.inode)
                return try $0.removeFolder(name, in: parent.inode, settle: times.settle)
            }
            lostName(record)
            return .ready(())
        }
    }

    package func rename(
        _ name: Filename, in folder: NodeID, to newName: Filename, in newFolder: NodeID, noReplace: Bool
    ) throws(VolumeError) -> Outcome<Void> {
        let from = try checkedParent(folder, name)
        let to = try checkedParent(newFolder, newName)
        try refuseTrash(newName, in: to)
        return try answer {
            var parted: [CatalogChange]? = []
            var movedItem: ItemRecord?
            let result = try saving { writer -> RenameResult? in
                try writer.requireListing(to.inode)
                if try writer.entersTrash((name, from.inode), (newName, to.inode)) {
                    parted = try writer.keepOnlyHere(name, in: from.inode, settle: times.settle)
                    if parted == nil { return nil }
                } else {
                    try writer.requireMayRename(name, in: from.inode, to: newName, in: to.inode)
                }
                let result = try writer.rename(
                    name, in: from.inode, to: newName, in: to.inode, noReplace: noReplace, settle: times.settle)
                if let moved = try writer.inodeIfPresent(result.moved.id) { try relabel(moved, in: writer) }
                movedItem = try writer.item(of: result.moved.id)
                return result
            }
            guard let result, let parted else { return .wait(try downloadTree(name, in: from)) }
            if !parted.isEmpty { hasLeftStore(parted) }
            if let replaced = result.replaced { lostName(replaced) }
            if let movedItem { engine.wasMoved(movedItem) }
            engine.changed()
            return .ready(())
        }
    }

    /// renameat2(2) with RENAME_EXCHANGE.
    package func exchange(
        _ name: Filename, in folder: NodeID, with newName: Filename, in newFolder: NodeID
    ) throws(VolumeError) -> Outcome<Void> {
        let from = try checkedParent(folder, name)
        let to = try checkedParent(newFolder, newName)
        try refuseTrash(name, in: from)
        try refuseTrash(newName, in: to)
        return try answer {
            let moved = try catalog.write { writer in
                try refuseTrashBorder((name, from), (newName, to), writer)
                try writer.requireMayExchange(name, in: from.inode, with: newName, in: to.inode)
                try writer.exchange(name, in: from.inode, with: newName, in: to.inode, settle: times.settle)
                let moved = try [
                    writer.child(of: from.inode, named: name), writer.child(of: to.inode, named: newName),
                ].compactMap { $0 }
                for record in moved { try relabel(record, in: writer) }
                return try moved.compactMap { try writer.item(of: $0.id) }
            }
            for item in moved { engine.wasMoved(item) }
            engine.changed()
            return .ready(())
        }
    }

    func lostName(_ record: InodeRecord) {
        // A document with another name left gets the label of that name. One that is removed and in use loses its
        // label, so that nobody misses it.
        if record.kind == .document, record.linkCount > 0 || table.isOpen(record.id) { label(record.id) }
        if record.linkCount == 0 {
            table.current(record.id)?.withLock { $0.isUnlinked = true }
            if let gone = table.orphan(record.id) { reclaim(gone) } else { downloadWhole(record.id) }
        }
        engine.changed()
    }

    // MARK: Folders

    /// opendir(3). Ready when the folder's listing is here.
    ///
    /// - Parameter thread: of the program that lists the folder, as FUSE says it.
    package func openFolder(_ id: NodeID, thread: Int32? = nil) throws(VolumeError) -> Outcome<HandleID> {
        if case .wait(let wait) = try listed(id, thread: thread) { return .wait(wait) }
        return .ready(handles.add(HandleTable.Handle(node: try node(id), isWritable: false, isFolder: true)))
    }

    /// Ready when the folder's listing is here.
    package func listed(_ id: NodeID, thread: Int32? = nil) throws(VolumeError) -> Outcome<Void> {
        try refuseSignedOut()
        let folder = try node(id)
        return try answer {
            let record = try catalog.read { try $0.inode(folder.inode) }
            guard record.capabilities.contains(.reading) else {
                throw VolumeError(EACCES, "the store does not permit listing the folder")
            }
            guard record.isEnumerated else { throw CatalogError(.notEnumerated(record.id), "not listed yet") }
            engine.wasListed(folder.inode, thread: thread)
            return .ready(())
        }
    }

    /// Entries after `cookie` (0: from the beginning), at most `limit`; no references are taken.
    package func entries(of id: NodeID, after cookie: Int64, limit: Int) throws(VolumeError) -> [FolderEntry] {
        try refuseSignedOut()
        let folder = try node(id)
        if cookie == 0 { keptListings.listed(id) }
        do {
            let entries = try catalog.read { try $0.children(of: folder.inode, after: cookie, limit: limit) }
            engine.listed(names: entries.count)
            return entries
        } catch {
            throw VolumeError(error)
        }
    }

    /// The inode number of the folder above.
    package func parent(of id: NodeID) throws(VolumeError) -> InodeID {
        let folder = try node(id)
        do { return try catalog.read { try $0.place(of: folder.inode)?.folder } ?? .root } catch {
            throw VolumeError(error)
        }
    }

    package func closeFolder(_ handle: HandleID) { _ = handles.remove(handle) }
}

extension Catalog.Reader {
    /// Whether a name is free is known only when the folder has been listed.
    func requireListing(_ folder: InodeID) throws {
        guard try inode(folder).isEnumerated else { throw CatalogError(.notEnumerated(folder), "not listed yet") }
    }
}
