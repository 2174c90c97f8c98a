import ContentStore
package import FileProvider
import Glibc
import ItemCatalog
import SyncEngine
package import Trees

/// Hard links and special files, which no store has, and the files that databases keep beside themselves.
extension Volume {
    /// link(2). Only the first name of a file is in the store.
    package func link(_ id: NodeID, to name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Lookup> {
        let parent = try checkedParent(folder, name)
        let node = try node(id)
        try refuseTrash(name, in: parent)
        return try answer {
            let record = try catalog.write { writer in
                try writer.requireListing(parent.inode)
                try writer.requireMayAdd(name, to: parent.inode)
                try writer.requireMayLink(node.inode, to: name, in: parent.inode)
                if let place = try writer.place(of: node.inode) {
                    try refuseTrashBorder((place.name, place.folder), (name, parent.inode), writer)
                }
                return try writer.link(node.inode, to: name, in: parent.inode)
            }
            engine.changed()
            return .ready(reference(record))
        }
    }

    /// mknod(2): an empty document, or a pipe, socket or device, which lives on this machine only.
    package func makeNode(
        _ name: Filename, in folder: NodeID, mode: UInt32, device: UInt64, uid: UInt32, gid: UInt32
    ) throws(VolumeError) -> Outcome<Lookup> {
        let kind: InodeKind
        switch mode & S_IFMT {
        case S_IFREG, 0: kind = .document
        case S_IFIFO: kind = .pipe
        case S_IFSOCK: kind = .socket
        case S_IFCHR: kind = .characterDevice
        case S_IFBLK: kind = .blockDevice
        default: throw VolumeError(EINVAL, "\(name): no such kind of file")
        }
        let bits = mode & 0o7777
        return try make(
            kind == .document
                ? NewFile(kind: .document, mode: bits, uid: uid, gid: gid)
                : NewFile(special: kind, device: device, mode: bits, uid: uid, gid: gid),
            name, in: folder)
    }

    /// Whether a new file is one that SQLite keeps beside a database: it means nothing without the database, and never
    /// goes to the store.
    package func isSidecar(_ name: Filename, in folder: InodeID) throws -> Bool {
        guard let database = DatabaseFiles.database(of: name),
            let record = try catalog.read({ try $0.child(of: folder, named: database) }), record.kind == .document
        else { return false }
        if record.size == 0 { return true }
        guard mount.store.status(GenerationID(inode: record.id.rawValue, number: record.generation)) != nil else {
            return false
        }
        return DatabaseFiles.isDatabase(try mount.openCurrent(record.id).content)
    }
}
