import ContentStore
import FileProvider
package import Glibc
import ItemCatalog
import Logging
package import SyncEngine
import Synchronization

/// The file system as POSIX has it: inodes, handles, names. Knows nothing of libfuse.
///
/// Every call is answered from memory, the catalog or the local disk, on the thread that makes it; what
/// needs the provider comes back as ``Outcome/wait(_:)``. Lock order: see ``Node``.
package final class Volume: Sendable {
    package let engine: SyncEngine
    let context: SyncContext
    let table = NodeTable()
    let handles = HandleTable()
    let kernel: any KernelNotifying
    let backing: any BackingRegistering

    var catalog: Catalog { context.catalog }
    var times: SyncTimes { context.times }

    package init(engine: SyncEngine, kernel: any KernelNotifying, backing: any BackingRegistering) {
        self.engine = engine
        self.context = engine.context
        self.kernel = kernel
        self.backing = backing
        context.attach(self)
    }

    /// Runs a call; a listing that it lacks becomes something to wait for.
    func answer<T>(_ body: () throws -> Outcome<T>) throws(VolumeError) -> Outcome<T> {
        do { return try body() } catch {
            guard let folder = VolumeError.needsListing(error) else { throw VolumeError(error) }
            return .wait(Wait { [engine] in try await engine.enumerate(folder) })
        }
    }

    func node(_ id: NodeID) throws(VolumeError) -> Node {
        guard let node = table[id] else { throw VolumeError(ESTALE, "the kernel named an unknown node") }
        return node
    }

    func check(_ name: Filename) throws(VolumeError) {
        if name.bytes.count > 255 { throw VolumeError(ENAMETOOLONG, "\(name): the name is longer than 255 bytes") }
    }

    /// Statistics of the disk that the downloaded bytes are on.
    package func statistics() throws(VolumeError) -> statvfs {
        do { return try context.store.diskStatistics() } catch { throw VolumeError(error) }
    }

    // MARK: Starting and ending

    /// Puts right what a killed daemon left: marks of writers, unlinked files, files without a row.
    /// Call before the first request.
    package func recover() throws(VolumeError) {
        do {
            for inode in try catalog.read({ try $0.orphans() }) { reclaim(inode) }
            for inode in try catalog.read({ try $0.inodesBeingWritten() }) { try recoverWriter(inode) }
            let (current, highest) = try catalog.read { (try $0.generations(), try $0.highestInode()) }
            let unknown = context.store.cleanUp(
                current: Dictionary(uniqueKeysWithValues: current.map { ($0.rawValue, $1) }),
                highest: highest.rawValue)
            for path in unknown {
                context.logger.error(
                    "bytes that the catalog does not know are left in place", metadata: ["path": "\(path)"])
            }
        } catch {
            throw VolumeError(error)
        }
    }

    /// A writer was at work when the daemon was killed: what it wrote is pending now.
    private func recoverWriter(_ inode: InodeRecord) throws {
        let found = context.store.status(GenerationID(inode: inode.id.rawValue, number: inode.generation))
        let now = BackingStamp(found)
        try catalog.write { writer in
            switch inode.writing {
            case .maybeModified(let stamp) where now == nil || stamp == now || stamp == .none: break
            default:
                try writer.recordWritten(
                    inode.id, size: now?.size ?? inode.size, modified: now?.modified ?? inode.modified, mark: .modified,
                    settle: 0)
            }
            try writer.endWriting(inode.id, settle: 0, defaults: context.defaults)
        }
    }

    /// An inode without name and without user: its row and its bytes go.
    func reclaim(_ inode: InodeID) {
        do {
            guard let record = try catalog.read({ try $0.inodeIfPresent(inode) }), record.linkCount == 0 else { return }
            try catalog.write { try $0.deleteInode(inode) }
            if record.kind == .document {
                context.store.remove(GenerationID(inode: inode.rawValue, number: record.generation))
            }
        } catch {
            context.logger.error("cannot reclaim an inode", metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
    }
}

extension BackingStamp {
    init?(_ status: ContentStat?) {
        guard let status else { return nil }
        self.init(
            size: status.size, modified: FileTime(nanoseconds: status.modified),
            changed: FileTime(nanoseconds: status.changed))
    }
}
