import ContentStore
package import FileProvider
import Glibc
import ItemCatalog
import SyncEngine
package import Trees

/// For commands, in which people name paths.
extension Volume {
    /// The inode at a path from the root; folders that were never looked at are listed on the way.
    package func resolve(_ names: [Filename]) async throws(VolumeError) -> InodeRecord {
        try refuseSignedOut()
        while true {
            do { return try catalog.read { try $0.resolve(names) } } catch {
                guard let folder = VolumeError.needsListing(error) else { throw VolumeError(error) }
                do { try await engine.enumerate(folder) } catch { throw VolumeError(error) }
            }
        }
    }

    /// A row and its item, as they are now.
    package func inspect(_ inode: InodeID) throws(VolumeError) -> (InodeRecord, ItemRecord?) {
        do {
            var (record, item) = try catalog.read { (try $0.inode(inode), try $0.item(of: inode)) }
            if let node = table.current(inode) { record = attributes(record, node).record }
            // A download under way is ahead of the catalog.
            if let content = mount.store.opened(
                GenerationID(inode: inode.rawValue, number: record.generation))
            {
                record.extents = content.present
                record.baseSize = content.baseSize
            }
            return (record, item)
        } catch {
            throw VolumeError(error)
        }
    }
}

/// For file handles (name_to_handle_at(2), an NFS server), which name nodes that the kernel may have forgotten.
extension Volume {
    /// Looks up what the kernel called by this number. Numbers of inodes are not used again, not even after a restart;
    /// those of nodes of past generations end with the mount.
    package func lookUp(_ id: NodeID) throws(VolumeError) -> Outcome<Lookup?> {
        try answer {
            let inode = table.inode(of: id) ?? InodeID(id)
            let moment = moment
            guard let record = try catalog.read({ try $0.inodeIfPresent(inode) }), record.linkCount > 0 else {
                throw VolumeError(ESTALE, "no file has this inode number")
            }
            let lookup = reference(record, asOf: moment)
            if lookup.node == id { return .ready(lookup) }
            forget(lookup.node, count: 1)
            throw VolumeError(ESTALE, "another version of the file has this inode number now")
        }
    }

    package func lookUpParent(of folder: NodeID) throws(VolumeError) -> Outcome<Lookup?> {
        if table.inode(of: folder) == nil { throw VolumeError(ESTALE, "no file has this inode number") }
        let parent = try parent(of: folder)
        return try lookUp(table.id(of: parent) ?? NodeID(parent))
    }
}
