import CLinux
package import Glibc
import Locking
import Synchronization

/// The local bytes of one domain: `storage/SHARD/INODE.GENERATION`, sparse files that only the owner
/// can read; `uploads/`, snapshots on their way to the provider; `removed/`, files that are about to go.
///
/// Safe from any thread. It knows no catalog: what is current, and what may go, its callers say.
package final class ContentStore: Sendable {
    package let directory: String
    private struct WeakFile { weak var file: ContentFile? }
    /// What is open now, so that all openers of a generation share one object.
    private let openFiles = AdaptiveMutex<[GenerationID: WeakFile]>([:])
    /// Whose names in their folders are known to be durable.
    private let durableNames = AdaptiveMutex<Set<GenerationID>>([])
    private let namesComeWithFiles: Bool
    /// As far as is known.
    let makesClones = Atomic(true)

    /// Makes the folders where they are missing.
    package init(directory: String) throws(ContentError) {
        self.directory = directory
        _ = Self.outlivesBrokenLeases
        for folder in [directory, directory + "/storage", directory + "/uploads", directory + "/\(Self.removed)"] {
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw .last(folder) }
        }
        namesComeWithFiles = NameDurability.comesWithFiles(in: directory)
        removeSnapshots()
    }

    /// Whoever opens a file in the moment in which we have a lease on it, only to see whether somebody else has it open,
    /// breaks that: SIGIO comes, which ends a process that does not expect it (fcntl(2)).
    private static let outlivesBrokenLeases: Void = { signal(SIGIO, SIG_IGN) }()

    /// Copies for uploads that a daemon left which was killed as it made them; older versions left them longer.
    private func removeSnapshots() {
        for name in ContentInventory.names(in: directory + "/uploads") {
            Glibc.unlink(directory + "/uploads/" + name)
        }
    }

    func path(_ id: GenerationID) -> String { "\(directory)/storage/\(id.shard)/\(id)" }

    /// Opens a generation, making its file when nothing of it can be here yet.
    ///
    /// - Parameters:
    ///   - size: what the document's size is; the file is given it (a truncation may not have come to its end).
    ///   - isAhead: a program may have changed the file since: its size is kept, unless it is new.
    ///   - baseSize: bytes below it that are not `present` come from the provider.
    ///   - present: nil: all.
    ///   - forProgram: a program may hold it open for as long as it likes, and so has no part in what is kept for the
    ///     daemon's own work (``OpenFileLimit``).
    /// - Throws: ``ContentError/Code/missing`` when bytes should be here and the file is not.
    package func open(
        _ id: GenerationID, size: Int64, isAhead: Bool = false, baseSize: Int64, present: RangeSet<Int64>?,
        forProgram: Bool = false
    ) throws(ContentError) -> ContentFile {
        if let file = openFiles.withLock({ $0[id]?.file }) { return file }
        let isNew = size == 0 || present?.isEmpty == true
        let descriptor = try openDescriptor(id, size: size, isAhead: isAhead, isNew: isNew)
        if forProgram, OpenFileLimit.isReserved(descriptor) {
            close(descriptor)
            throw OpenFileLimit.reached(path(id))
        }
        let file = ContentFile(
            id: id, descriptor: descriptor, path: path(id), baseSize: baseSize, present: present)
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

    private func openDescriptor(
        _ id: GenerationID, size: Int64, isAhead: Bool, isNew: Bool
    ) throws(ContentError) -> Int32 {
        let path = path(id)
        var descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC | (isNew ? O_CREAT : 0), 0o600)
        if descriptor < 0 && errno == ENOENT {
            let folder = "\(directory)/storage/\(id.shard)"
            if let vanished { throw vanished }
            if !isNew { throw ContentError(code: .missing, message: "\(path): the local bytes are gone") }
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw .last(folder) }
            descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        }
        guard descriptor >= 0 else { throw .last(path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0,
            Int64(status.st_size) == size || isAhead && status.st_size > 0 || ftruncate(descriptor, off_t(size)) == 0
        else {
            let failure = ContentError.last(path)
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    /// All of it was removed, or its disk unmounted, under a running daemon. Then nothing may be taken for evicted.
    private var vanished: ContentError? {
        guard access("\(directory)/storage", F_OK) != 0, errno == ENOENT else { return nil }
        return ContentError(
            code: .vanished,
            message: "\(directory): the state directory is gone, and what was not in the store yet with it, unless it "
                + "comes back; unmount, and mount again when it is there")
    }

    /// When this returns, what was written to a generation before survives power loss, with the file's own date, and
    /// so does its name.
    ///
    /// Source: fsync(2), *Calling fsync() does not necessarily ensure that the entry in the directory …*
    /// - Parameter content: as it was opened: the generation may have been removed since.
    /// - Returns: the state of the file that is durable; nil when it was written meanwhile, or is only its openers'.
    package func synchronize(_ id: GenerationID, _ content: ContentFile? = nil) throws(ContentError) -> ContentStat? {
        let before = status(id)
        if let file = content ?? opened(id) {
            // It may have no name any more: then it is nobody's but its openers'.
            guard fsync(file.descriptor) == 0 else { throw .last(path(id)) }
            if before == nil { return nil }
        } else {
            try synchronize(path(id))
        }
        try synchronizeName(id)
        let after = status(id)
        return before?.size == after?.size && before?.modified == after?.modified ? after : nil
    }

    /// fdatasync(2): of a generation that is gone nothing.
    package func synchronizeBytes(_ id: GenerationID) throws(ContentError) {
        let path = path(id)
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT, vanished == nil { return }
            throw .last(path)
        }
        defer { close(descriptor) }
        guard fdatasync(descriptor) == 0 else { throw .last(path) }
    }

    /// syncfs(2): all that was written to the file system that the store is on.
    package func synchronizeAll() throws(ContentError) {
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .last(directory) }
        defer { close(descriptor) }
        guard clinux_sync_file_system(descriptor) == 0 else { throw .last(directory) }
    }

    private func synchronizeName(_ id: GenerationID) throws(ContentError) {
        if namesComeWithFiles || durableNames.withLock({ $0.contains(id) }) { return }
        for folder in ["\(directory)/storage/\(id.shard)", "\(directory)/storage", directory] {
            try synchronize(folder)
        }
        durableNames.withLock { names in
            if names.count > 100_000 { names = [] }
            names.insert(id)
        }
    }

    private func synchronize(_ path: String) throws(ContentError) {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .last(path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .last(path) }
    }

    /// What the file of a generation says of itself; nil when there is none.
    package func status(_ id: GenerationID) -> ContentStat? {
        var status = stat()
        guard stat(path(id), &status) == 0 else { return nil }
        return ContentStat(
            size: Int64(status.st_size), modified: status.st_mtim.nanoseconds,
            changed: status.st_ctim.nanoseconds, blocks: Int64(status.st_blocks))
    }

    /// Gives a generation's bytes a second name, as the first generation of another inode.
    package func link(_ id: GenerationID, to new: GenerationID) throws(ContentError) {
        let folder = "\(directory)/storage/\(new.shard)"
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw .last(folder) }
        // Left by a transaction that did not come to its end.
        Glibc.unlink(path(new))
        guard Glibc.link(path(id), path(new)) == 0 else { throw .last(path(id)) }
    }

    /// Whoever has the file open goes on under the new name.
    package func rename(_ file: ContentFile, to new: GenerationID) {
        openFiles.withLock { files in
            files[file.id] = nil
            files[new] = WeakFile(file: file)
            file.rename(to: new)
        }
    }

    /// Whether somebody else can still change the file: a passthrough handle, or a mapping that outlived it.
    ///
    /// fcntl(2), F_SETLEASE: a read lease is granted when nobody has the file open for writing. Where we have it
    /// open ourselves, only a write lease can tell, and then a reader counts as well.
    package func isWritable(_ id: GenerationID) -> Bool {
        if let file = opened(id) { return file.isUsedElsewhere }
        let descriptor = Glibc.open(path(id), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return clinux_try_read_lease(descriptor) != 0 && (errno == EAGAIN || errno == EBUSY)
    }

    /// Removes a generation's file; whoever has it open goes on with it.
    package func remove(_ id: GenerationID) {
        Glibc.unlink(path(id))
        forget(id)
    }

    /// Who opens it next gets the file that is there then.
    func forget(_ id: GenerationID) { openFiles.withLock { $0[id] = nil } }

    /// Whether a file that is made at `path` takes room on the disk under the store.
    package func isOnItsDisk(_ path: String) -> Bool {
        var (own, other) = (stat(), stat())
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        return stat(directory, &own) == 0 && stat(folder, &other) == 0 && own.st_dev == other.st_dev
    }

    /// statvfs(2) of the disk under the store.
    package func diskStatistics() throws(ContentError) -> statvfs {
        var statistics = statvfs()
        guard statvfs(directory, &statistics) == 0 else { throw .last(directory) }
        return statistics
    }

    /// Removes what no catalog row names any more. Files of inodes above `highest` were never in this catalog (it was
    /// lost, or is an old copy), and labelled ones hold what was never in the store: they may be somebody's only copy,
    /// and are put aside, so that no new inode ever takes their names (`hydrant rescue` finds them there).
    ///
    /// - Parameter isCurrent: whether the catalog names it.
    /// - Returns: the paths that those have now.
    package func cleanUp(highest: Int64, _ isCurrent: (GenerationID) throws -> Bool) rethrows -> [String] {
        var unknown: [String] = []
        let inventory = ContentInventory(directory: directory)
        for entry in inventory.entries() where !entry.isLost {
            guard let id = entry.id, try !isCurrent(id) else { continue }
            if id.inode > highest || inventory.label(of: entry.path) != nil {
                unknown.append((try? inventory.putAside(entry.path)) ?? entry.path)
            } else {
                Glibc.unlink(entry.path)
            }
        }
        return unknown
    }
}
