import CLinux
import FileProvider
import Glibc
import Logging
import Synchronization

/// The directory of the store. Its calls block, and so run on the provider's own threads.
final class Store: Sendable {
    let root: Folder
    let rootPath: String
    let index = StoreIndex()
    let sightings: Sightings
    let logger: Logger
    let seams: Seams
    /// The user of this process.
    let user = geteuid()
    let watchers = Mutex<[InotifyWatcher]>([])
    /// Items whose left-out attributes were reported; limited.
    let reportedAttributes = Mutex<Set<ItemIdentifier>>([])
    /// Whether it was reported that some items lie too deep.
    let hasReportedDepth = Mutex(false)
    /// Whether a file system (by device) keeps user attributes; tested once for each.
    private let attributeDevices = Mutex<[UInt64: Bool]>([:])

    init(root path: String, logger: Logger, seams: Seams) throws(FileProviderError) {
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw FileProviderError(.cannotSynchronize, "\(path): not an absolute path")
        }
        let number: Int32
        let status: FileStatus
        let descriptor: Descriptor
        do throws(SystemError) {
            // Links in the user's path are followed, here and nowhere else.
            number = try check("open") { clinux_open_folder(AT_FDCWD, path, true) }
            descriptor = Descriptor(number)
            status = try descriptor.status()
        } catch {
            switch error.number {
            case ENOENT:
                throw FileProviderError(.serverUnreachable, "\(path): no such directory", cause: error)
            case ENOTDIR:
                throw FileProviderError(.serverUnreachable, "\(path): not a directory", cause: error)
            default: throw FileProviderError(error, path: path)
            }
        }
        rootPath = path == "/" ? "" : String(path.trimmingSlashes)
        root = Folder(
            descriptor: descriptor, identifier: .rootContainer, components: [], status: status,
            rootPath: rootPath)
        sightings = Sightings(user: user, index: index)
        self.logger = logger
        self.seams = seams
    }

    /// Throws when the directory at the root's path is no longer the opened one: removed, unmounted, or hidden by a
    /// mount. Items that are missing then are not deleted.
    func checkRoot() throws(FileProviderError) {
        var raw = clinux_status()
        let result = clinux_status(AT_FDCWD, rootPath.isEmpty ? "/" : rootPath, true, &raw)
        if result == 0, FileStatus(raw).isSameFile(as: root.status) { return }
        let why = result == 0 ? "another directory is there now" : String(cString: strerror(errno))
        throw FileProviderError(.serverUnreachable, "\(rootPath): the store is gone: \(why)")
    }

    /// The space of its file system, as far as this user may use it.
    func quota() throws(FileProviderError) -> StoreQuota {
        var statistics = statvfs()
        do throws(SystemError) {
            _ = try check("fstatvfs") { fstatvfs(root.descriptor.number, &statistics) }
        } catch {
            throw FileProviderError(error, path: rootPath)
        }
        return StoreQuota(statistics)
    }

    /// Whether an inode can identify the file `name`.
    func usesInodes(_ status: FileStatus, named name: [UInt8], in folder: Folder) -> Bool {
        guard !seams.pathIdentifiersOnly, status.born != nil else { return false }
        return keepsAttributes(status, named: name, in: folder)
    }

    /// Whether the file system of the file `name` keeps user attributes. A mount point is on another device than its
    /// parent: then the folder itself is tested.
    func keepsAttributes(_ status: FileStatus, named name: [UInt8], in folder: Folder) -> Bool {
        if seams.attributesUnsupported { return false }
        if let known = attributeDevices.withLock({ $0[status.device] }) { return known }
        let asked = status.device == folder.status.device ? [UInt8(ascii: ".")] : name
        let keeps = AttributedFile(asked, in: folder).keepsAttributes
        attributeDevices.withLock { $0[status.device] = keeps }
        return keeps
    }

    /// The folder `name` in `parent`, opened; nil when no folder has that name.
    func open(_ name: [UInt8], in parent: Folder) throws(FileProviderError) -> Folder? {
        do throws(FileProviderError) {
            let descriptor = try parent.openFolder(name)
            let path = parent.path(of: name)
            let status = try naming(path) { () throws(SystemError) in try descriptor.status() }
            return Folder(
                descriptor: descriptor, identifier: identifier(ofFolder: status, named: name, in: parent),
                components: parent.components + [name], status: status, rootPath: rootPath)
        } catch {
            if error.saysAbsent { return nil }
            throw error
        }
    }

    /// The folder at `components` below the root.
    func open(_ components: [[UInt8]]) throws(FileProviderError) -> Folder? {
        var folder = root
        for name in components {
            guard let next = try open(name, in: folder) else { return nil }
            folder = next
        }
        return folder
    }

    func identifier(ofFolder status: FileStatus, named name: [UInt8], in parent: Folder) -> ItemIdentifier {
        usesInodes(status, named: name, in: parent)
            ? Identity.ofInode(status, isOnRootDevice: status.device == root.status.device)!
            : Identity.ofPath(parent.components + [name])
    }
}

extension StoreQuota {
    /// A file system may report anything, also more free than total space.
    init(_ statistics: statvfs) {
        let all = UInt64(statistics.f_blocks)
        let used = DiskNumbers.bytes(all - min(all, UInt64(statistics.f_bfree)), of: UInt64(statistics.f_frsize))
        let free = DiskNumbers.bytes(UInt64(statistics.f_bavail), of: UInt64(statistics.f_frsize))
        self.init(used: used, total: used.clampedAdding(free))
    }
}

extension String {
    fileprivate var trimmingSlashes: Substring {
        var text = self[...]
        while text.hasSuffix("/") { text.removeLast() }
        return text
    }
}
