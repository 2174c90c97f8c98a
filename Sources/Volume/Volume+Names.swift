package import FileProvider
import Glibc
package import ItemCatalog
import SyncEngine

/// A name that was looked up, with one more reference on its node (until forget).
package struct Lookup: Sendable {
    package var node: NodeID
    package var attributes: NodeAttributes
}

extension Volume {
    /// Nil: the folder has no such name, and that is certain.
    package func lookUp(_ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Lookup?> {
        try check(name)
        let parent = try node(folder)
        return try answer {
            let found = try catalog.read { reader in
                if let child = try reader.child(of: parent.inode, named: name) { return child as InodeRecord? }
                let record = try reader.inode(parent.inode)
                guard record.isFolder else { throw CatalogError(.notFolder, "not a folder") }
                if !record.isEnumerated { throw CatalogError(.notEnumerated(parent.inode), "not listed yet") }
                return nil
            }
            return .ready(found.map { reference($0) })
        }
    }

    /// One more reference on the inode's node.
    package func reference(_ record: InodeRecord) -> Lookup {
        let (node, replaced) = table.reference(record.id, generation: record.generation)
        if let replaced { freeze(replaced, as: record) }
        return Lookup(node: node.id, attributes: attributes(record, node))
    }

    /// The kernel gives up references.
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

    private func make(_ file: NewFile, _ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Lookup> {
        let parent = try checkedParent(folder, name)
        return try answer {
            try requireListing(parent)
            let record = try catalog.write {
                try $0.create(file, in: parent.inode, named: name, settle: times.settle)
            }
            engine.changed()
            return .ready(reference(record))
        }
    }

    func checkedParent(_ folder: NodeID, _ name: Filename) throws(VolumeError) -> Node {
        try check(name)
        if let problem = name.problem { throw VolumeError(EINVAL, problem) }
        return try node(folder)
    }

    /// Whether a name is free is known only when the folder has been listed.
    func requireListing(_ folder: Node) throws {
        guard try catalog.read({ try $0.inode(folder.inode) }).isEnumerated else {
            throw CatalogError(.notEnumerated(folder.inode), "not listed yet")
        }
    }

    package func readLink(_ id: NodeID) throws(VolumeError) -> [UInt8] {
        let record = try attributes(of: id).record
        guard let target = record.target else { throw VolumeError(EINVAL, "not a symbolic link") }
        return target
    }

    package func unlink(_ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Void> {
        let parent = try checkedParent(folder, name)
        return try answer {
            let record = try catalog.write { try $0.unlink(name, in: parent.inode, settle: times.settle) }
            lostName(record)
            return .ready(())
        }
    }

    package func removeFolder(_ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Void> {
        let parent = try checkedParent(folder, name)
        return try answer {
            let record = try catalog.write { try $0.removeFolder(name, in: parent.inode, settle: times.settle) }
            lostName(record)
            return .ready(())
        }
    }

    package func rename(
        _ name: Filename, in folder: NodeID, to newName: Filename, in newFolder: NodeID, noReplace: Bool
    ) throws(VolumeError) -> Outcome<Void> {
        let from = try checkedParent(folder, name)
        let to = try checkedParent(newFolder, newName)
        return try answer {
            try requireListing(to)
            let result = try catalog.write {
                try $0.rename(
                    name, in: from.inode, to: newName, in: to.inode, noReplace: noReplace, settle: times.settle)
            }
            if let replaced = result.replaced { lostName(replaced) }
            engine.changed()
            return .ready(())
        }
    }

    private func lostName(_ record: InodeRecord) {
        if record.linkCount == 0 {
            if let gone = table.orphan(record.id) { reclaim(gone) } else { bringWhole(record.id) }
        }
        engine.changed()
    }

    // MARK: Folders

    /// opendir(3). The listing is here when this is ready.
    package func openFolder(_ id: NodeID) throws(VolumeError) -> Outcome<HandleID> {
        let folder = try node(id)
        return try answer {
            try requireListing(folder)
            engine.wasLookedAt(folder.inode)
            return .ready(handles.add(HandleTable.Handle(node: folder, isWritable: false, isFolder: true)))
        }
    }

    /// Entries after `cookie` (0: from the beginning), at most `limit`; no references are taken.
    package func entries(of id: NodeID, after cookie: Int64, limit: Int) throws(VolumeError) -> [FolderEntry] {
        let folder = try node(id)
        do {
            return try catalog.read { try $0.children(of: folder.inode, after: cookie, limit: limit) }
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
