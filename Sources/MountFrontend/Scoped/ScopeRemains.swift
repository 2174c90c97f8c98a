import FileProvider
import Glibc
import ItemCatalog
import Logging
import SyncEngine
package import Volume

/// Takes away what programs left beside the item of a scoped folder.
package struct ScopeRemains {
    private let volume: Volume
    private let kernel: any KernelNotifying

    package init(volume: Volume, kernel: any KernelNotifying) {
        self.volume = volume
        self.kernel = kernel
    }

    private var catalog: Catalog { volume.engine.context.catalog }

    /// Of scopes that ended with a daemon that was killed.
    package func removeAll() {
        do { remove(try catalog.read { try $0.names(beginningWith: Exclusions.scopedPrefix) }) } catch {
            volume.engine.context.logger.error(
                "cannot look for what scoped folders left", metadata: ["error": "\(error)"])
        }
    }

    func remove(_ names: [(folder: InodeID, name: Filename)]) {
        for (folder, name) in names {
            do { try remove(name, in: folder) } catch {
                volume.engine.context.logger.error(
                    "what a program left in a scoped folder cannot be taken away",
                    metadata: ["name": "\(name)", "error": "\(error)"])
            }
        }
    }

    private func remove(_ name: Filename, in folder: InodeID) throws {
        guard let record = try catalog.read({ try $0.child(of: folder, named: name) }) else { return }
        let parent = volume.reference(try catalog.read { try $0.inode(folder) }).node
        defer { volume.forget(parent, count: 1) }
        // Between an item's making room and the other file's coming the daemon may have been killed.
        if let home = try home(of: record) { return try putBack(name, parent, home) }
        if try isInStore(record, name) {
            throw VolumeError(EBUSY, "the store has it under this name; rename it")
        }
        try remove(record, name, in: parent)
    }

    /// Where a document of the store belongs that a program had put aside, with nothing in its place.
    private func home(of record: InodeRecord) throws -> (folder: InodeRecord, name: Filename)? {
        try catalog.read { reader in
            guard let item = try reader.item(of: record.id), item.identifier != nil, let base = item.base,
                let folder = try reader.item(base.parent)?.inode,
                try reader.child(of: folder, named: base.name) == nil
            else { return nil }
            return (try reader.inode(folder), base.name)
        }
    }

    private func isInStore(_ record: InodeRecord, _ name: Filename) throws -> Bool {
        let item = try catalog.read { try $0.item(of: record.id) }
        return item?.identifier != nil && item?.local?.name == name
    }

    private func putBack(_ name: Filename, _ parent: NodeID, _ home: (folder: InodeRecord, name: Filename)) throws {
        let folder = volume.reference(home.folder).node
        defer { volume.forget(folder, count: 1) }
        _ = try volume.rename(name, in: parent, to: home.name, in: folder, noReplace: true)
        kernel.invalidateEntry(in: parent, name: name)
        kernel.invalidateEntry(in: folder, name: home.name)
        volume.engine.context.logger.warning(
            "a program had put a document aside and nothing in its place; it is back",
            metadata: ["name": "\(home.name)"])
    }

    private func remove(_ record: InodeRecord, _ name: Filename, in parent: NodeID) throws {
        guard record.isFolder else {
            _ = try volume.unlink(name, in: parent)
            return kernel.invalidateEntry(in: parent, name: name)
        }
        let node = volume.reference(record).node
        defer { volume.forget(node, count: 1) }
        while true {
            let children = try volume.entries(of: node, after: 0, limit: 100)
            if children.isEmpty { break }
            for child in children { try remove(child.inode, child.name, in: node) }
        }
        _ = try volume.removeFolder(name, in: parent)
        kernel.invalidateEntry(in: parent, name: name)
    }
}
