import FileProvider
import Glibc
import ItemCatalog
import Locking
import Logging
import SyncEngine
import Trees

/// The trash that file managers make in the topmost folder (freedesktop.org Trash specification 1.0).
///
/// The trash is never in the store. Where the store has a trash of its own, none is made here: a file manager that is
/// refused offers to delete, and a deletion goes to the store's trash, without a download. Elsewhere an item that is
/// moved into the trash is downloaded whole first, and is then deleted in the store; moved out again it is new to the
/// store.
extension Volume {
    /// EPERM, as in mkdir(2): "does not support the creation of directories".
    func refuseTrash(_ name: Filename, in folder: Node) throws(VolumeError) {
        guard folder.inode == .root, engine.hasTrash, Exclusions.isTrash(name) else { return }
        throw VolumeError(EPERM, "\(name): the store has a trash of its own; deleted items go there")
    }

    /// A call that cannot wait for a download treats the trash and the documents as two file systems.
    func refuseTrashBorder(
        _ one: (name: Filename, folder: InodeID), _ other: (name: Filename, folder: InodeID), _ writer: Catalog.Writer
    ) throws {
        if try writer.isTrash(one.name, in: one.folder) != writer.isTrash(other.name, in: other.folder) {
            throw VolumeError(
                EXDEV, "\(one.name): the trash and the documents count as two file systems; copy it instead")
        }
    }

    func refuseTrashBorder(
        _ one: (name: Filename, folder: Node), _ other: (name: Filename, folder: Node), _ writer: Catalog.Writer
    ) throws {
        try refuseTrashBorder((one.name, one.folder.inode), (other.name, other.folder.inode), writer)
    }

    /// Lists and downloads an item that is on its way into a trash: a document, or everything in a folder.
    func downloadTree(_ name: Filename, in folder: Node) throws -> Wait {
        let top = try catalog.read { try $0.child(of: folder.inode, named: name) }
        return Wait { [self] in if let top { try await downloadTree(top.id, name) } }
    }

    private func downloadTree(_ top: InodeID, _ name: Filename) async throws(VolumeError) {
        var downloaded: [InodeID] = []
        defer {
            let end = ContinuousClock.now + .seconds(60)
            leaving.withLock { leaving in for inode in downloaded { leaving[inode] = end } }
        }
        do {
            var waiting = [top]
            while let next = waiting.popLast() {
                try Task.checkCancellation()
                guard let record = try catalog.read({ try $0.inodeIfPresent(next) }) else { continue }
                if record.kind == .document {
                    downloaded.append(next)
                    leaving.withLock { $0[next] = .now + .seconds(86_400) }
                    if record.extents != nil { _ = try await engine.download(next) }
                }
                guard record.isFolder else { continue }
                if !record.isEnumerated { try await engine.enumerate(next) }
                waiting += try catalog.read { try $0.inodes(in: next) }
            }
        } catch {
            let failure = VolumeError(error)
            mount.logger.warning(
                "cannot move an item to the trash: not all of it could be downloaded",
                metadata: ["item": "\(name)", "error": "\(failure.message)"])
            throw failure
        }
    }

    /// Whether the item must not be evicted: it was downloaded, and is about to be renamed into a trash.
    func isLeavingStore(_ inode: InodeID) -> Bool {
        leaving.withLock { $0[inode].map { $0 > .now } ?? false }
    }

    /// An item that was renamed into a trash is on this machine only.
    func hasLeftStore(_ changes: [CatalogChange]) {
        leaving.withLock { $0 = $0.filter { $0.value > .now } }
        for case .attributes(let inode) in changes {
            leaving.withLock { $0[inode] = nil }
            label(inode)
        }
    }
}
