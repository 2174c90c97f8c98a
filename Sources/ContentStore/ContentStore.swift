package import Glibc
import Synchronization

/// The local bytes of one domain: `storage/SHARD/INODE.GENERATION`, sparse files that only the owner
/// can read, and `uploads/`, snapshots on their way to the provider.
///
/// Safe from any thread. It knows no catalog: what is current, and what may go, its callers say.
package final class ContentStore: Sendable {
    package let directory: String
    private struct WeakFile { weak var file: ContentFile? }
    /// What is open now, so that all openers of a generation share one object.
    private let openFiles = Mutex<[GenerationID: WeakFile]>([:])

    /// Makes the folders where they are missing.
    package init(directory: String) throws(ContentError) {
        self.directory = directory
        for folder in [directory, directory + "/storage", directory + "/uploads"] {
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw .last(folder) }
        }
        // Snapshots of uploads that the last daemon did not finish: they are taken anew.
        for name in Self.names(in: directory + "/uploads") { Glibc.unlink(directory + "/uploads/" + name) }
    }

    private func path(_ id: GenerationID) -> String {
        "\(directory)/storage/\(shard(id.inode))/\(id)"
    }

    private func shard(_ inode: Int64) -> String {
        let number = String(inode & 0xff, radix: 16)
        return number.count == 1 ? "0" + number : number
    }

    /// Opens a generation, making its file when nothing of it can be here yet.
    ///
    /// - Parameters:
    ///   - size: what the document's size is; the file is given it.
    ///   - baseSize: bytes below it that are not `present` come from the provider.
    ///   - present: nil: all.
    /// - Throws: ``ContentError/Code/missing`` when bytes should be here and the file is not.
    package func open(_ id: GenerationID, size: Int64, baseSize: Int64, present: RangeSet<Int64>?)
        throws(ContentError) -> ContentFile
    {
        if let file = openFiles.withLock({ $0[id]?.file }) { return file }
        let file = ContentFile(
            id: id, descriptor: try openDescriptor(id, size: size, isNew: size == 0 || present?.isEmpty == true),
            path: path(id), baseSize: baseSize,
            present: present)
        // Two may open at once: the first stays.
        return openFiles.withLock { files in
            if let first = files[id]?.file { return first }
            files[id] = WeakFile(file: file)
            if files.count > 4_096 { files = files.filter { $0.value.file != nil } }
            return file
        }
    }

    /// The generation if somebody has it open.
    package func opened(_ id: GenerationID) -> ContentFile? { openFiles.withLock { $0[id]?.file } }

    private func openDescriptor(_ id: GenerationID, size: Int64, isNew: Bool) throws(ContentError) -> Int32 {
        let path = path(id)
        var descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC | (isNew ? O_CREAT : 0), 0o600)
        if descriptor < 0 && errno == ENOENT && !isNew {
            throw ContentError(code: .missing, message: "\(path): the local bytes are gone")
        }
        if descriptor < 0 && errno == ENOENT {
            let folder = "\(directory)/storage/\(shard(id.inode))"
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw .last(folder) }
            descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        }
        guard descriptor >= 0 else { throw .last(path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, Int64(status.st_size) == size || ftruncate(descriptor, off_t(size)) == 0
        else {
            let failure = ContentError.last(path)
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    /// What the file of a generation says of itself; nil when there is none.
    package func status(_ id: GenerationID) -> ContentStat? {
        var status = stat()
        guard stat(path(id), &status) == 0 else { return nil }
        return ContentStat(
            size: Int64(status.st_size), modified: status.st_mtim.nanoseconds,
            changed: status.st_ctim.nanoseconds, blocks: Int64(status.st_blocks))
    }

    /// Removes a generation's file; whoever has it open goes on with it.
    package func remove(_ id: GenerationID) {
        Glibc.unlink(path(id))
        openFiles.withLock { $0[id] = nil }
    }

    /// statvfs(2) of the disk under the store.
    package func diskStatistics() throws(ContentError) -> statvfs {
        var statistics = statvfs()
        guard statvfs(directory, &statistics) == 0 else { throw .last(directory) }
        return statistics
    }

    /// Removes what no catalog row names any more. Files of inodes above `highest` were never in this
    /// catalog (it was lost, or is an old copy): they may be somebody's only copy and stay.
    ///
    /// - Returns: the paths of those that stay.
    package func cleanUp(current: [Int64: Int64], highest: Int64) -> [String] {
        var unknown: [String] = []
        for shard in Self.names(in: directory + "/storage") {
            let folder = "\(directory)/storage/\(shard)"
            for name in Self.names(in: folder) {
                let parts = name.split(separator: ".").compactMap { Int64($0) }
                guard parts.count == 2 else { continue }
                if current[parts[0]] == parts[1] { continue }
                if parts[0] > highest {
                    unknown.append("\(folder)/\(name)")
                } else {
                    Glibc.unlink("\(folder)/\(name)")
                }
            }
        }
        return unknown
    }

    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }
}
