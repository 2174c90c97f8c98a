import FileProvider
import Glibc
import ItemCatalog
import Locking
import Logging
import SyncEngine
import Trees

/// The trash that file managers make in the topmost folder (freedesktop.org Trash specification 1.0).
///
/// It is never in the store. Where the store has a trash of its own, none is made here: a file manager that is refused
/// offers to delete, and what is deleted goes to the store's trash, without a download. Elsewhere what is moved into it
/// comes here first, whole, and is then deleted in the store; moved out again it is new to the store.
extension Volume {
    /// mkdir(2), EPERM: "does not support the creation of directories".
    func refuseTrash(_ name: Filename, in folder: Node) throws(VolumeError) {
        guard folder.inode == .root, engine.hasTrash, Exclusions.isTrash(name) else { return }
        throw VolumeError(EPERM, "\(name): the store has a trash of its own; what is deleted goes there")
    }

    /// A trash and the documents are like two file systems to what cannot wait for a download.
    func refuseTrashBorder(
        _ one: (name: Filename, folder: InodeID), _ other: (name: Filename, folder: InodeID), _ writer: Catalog.Writer
    ) throws {
        if try writer.isTrash(one.name, in: one.folder) != writer.isTrash(other.name, in: other.folder) {
            throw VolumeError(EXDEV, "\(one.name): a trash and the store's documents are kept apart")
        }
    }

    func refuseTrashBorder(
        _ one: (name: Filename, folder: Node), _ other: (name: Filename, folder: Node), _ writer: Catalog.Writer
    ) throws {
        try refuseTrashBorder((one.name, one.folder.inode), (other.name, other.folder.inode), writer)
    }

    /// Lists and downloads what is on its way into a trash: a document, or everything in a folder.
    func bringTree(_ name: Filename, in folder: Node) throws -> Wait {
        let top = try catalog.read { try $0.child(of: folder.inode, named: name) }
        return Wait { [self] in if let top { try await bringTree(top.id, name) } }
    }

    private func bringTree(_ top: InodeID, _ name: Filename) async throws(VolumeError) {
        var brought: [InodeID] = []
        defer {
            let end = ContinuousClock.now + .seconds(60)
            leaving.withLock { leaving in for inode in brought { leaving[inode] = end } }
        }
        do {
            var waiting = [top]
            while let next = waiting.popLast() {
                try Task.checkCancellation()
                guard let record = try catalog.read({ try $0.inodeIfPresent(next) }) else { continue }
                if record.kind == .document {
                    brought.append(next)
                    leaving.withLock { $0[next] = .now + .seconds(86_400) }
                    if record.extents != nil { _ = try await engine.download(next) }
                }
                guard record.isFolder else { continue }
                if !record.isEnumerated { try await engine.enumerate(next) }
                waiting += try catalog.read { try $0.inodes(in: next) }
            }
        } catch {
            let failure = VolumeError(error)
            context.logger.warning(
                "not moved to the trash: it stays where it is, for not all of it could be downloaded",
                metadata: ["item": "\(name)", "error": "\(failure.message)"])
            throw failure
        }
    }

    /// Between its download and the rename it is not to be evicted.
    func isLeavingStore(_ inode: InodeID) -> Bool {
        leaving.withLock { $0[inode].map { $0 > .now } ?? false }
    }

    /// What was renamed into a trash is of this machine only.
    func hasLeftStore(_ changes: [CatalogChange]) {
        leaving.withLock { $0 = $0.filter { $0.value > .now } }
        catalogChanged(changes)
        for case .attributes(let inode) in changes {
            leaving.withLock { $0[inode] = nil }
            label(inode)
        }
    }
}
