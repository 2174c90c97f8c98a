import CLinux
package import Glibc
import Locking
import Surroundings
import Synchronization

/// The local bytes of one domain: `storage/SHARD/INODE.GENERATION`, sparse files that only the owner can read;
/// `uploads/`, snapshots for uploads; `removed/`, files about to be removed.
///
/// Any thread may call it. It knows no catalog: its callers say which generations are current, and which may go.
package final class ContentStore: Sendable {
    package let directory: String
    private struct WeakFile { weak var file: ContentFile? }
    /// The open files, so that all openers of a generation share one object.
    private let openFiles = AdaptiveMutex<[GenerationID: WeakFile]>([:])
    /// Generations whose names in their folders are known to be durable.
    let durableNames = AdaptiveMutex<Set<GenerationID>>([])
    let journal: Journal
    /// False once the file system has refused a clone.
    let makesClones = Atomic(true)

    /// Creates missing folders.
    ///
    /// - Parameter keepsOrder: for tests, ``keepsOrder``; nil: as the file system does.
    package init(directory: String, keepsOrder: Bool? = nil) throws(ContentError) {
        self.directory = directory
        _ = Self.outlivesBrokenLeases
        for folder in [directory, directory + "/storage", directory + "/uploads", directory + "/\(Self.removed)"] {
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw .last(folder) }
        }
        var journal = Journal.of(directory)
        if let keepsOrder { journal.keepsOrder = keepsOrder }
        self.journal = journal
        removeSnapshots()
    }

    /// Opening a file breaks a lease on it, also one that we take only to see whether others have the file open: the
    /// kernel then sends SIGIO, which ends a process that does not expect it (fcntl(2)).
    private static let outlivesBrokenLeases: Void = { signal(SIGIO, SIG_IGN) }()

    /// Removes copies for uploads that a killed daemon, or an older version, left behind.
    private func removeSnapshots() {
        for name in SystemFile.names(in: directory + "/uploads") ?? [] {
            Glibc.unlink(directory + "/uploads/" + name)
        }
    }

    func path(_ id: GenerationID) -> String { "\(directory)/storage/\(id.shard)/\(id)" }

    /// Opens a generation, and creates its file when none of its bytes can be here yet.
    ///
    /// - Parameters:
    ///   - size: the document's size, to which the file is set (a truncation may not have been completed).
    ///   - isAhead: a program may have changed the file since: keep its size, unless it is new.
    ///   - baseSize: bytes below it that are not `present` come from the provider.
    ///   - present: nil: all.
    ///   - forProgram: a program may hold it open indefinitely, and so gets no descriptor of those reserved for the
    ///     daemon's own work (``OpenFileLimit``).
    /// - Throws: ``ContentError/Code/missing`` when bytes should be here but the file is gone.
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
        // Of two simultaneous opens, the first stays.
        return openFiles.withLock { files in
            if let first = files[id]?.file { return first }
            files[id] = WeakFile(file: file)
            if files.count > 4_096 { files = files.filter { $0.value.file != nil } }
            return file
        }
    }

    /// The generation, if it is open.
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

    /// The storage was removed, or its disk unmounted, under a running daemon. Its documents must not count as evicted.
    var vanished: ContentError? {
        guard access("\(directory)/storage", F_OK) != 0, errno == ENOENT else { return nil }
        return ContentError(
            code: .vanished,
            message:
                "\(directory): the state directory is gone, and with it the changes that the store has not confirmed; "
                + "unmount, bring the directory back, and mount again")
    }

    /// The status of a generation's file; nil when there is none.
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
        // A leftover of a transaction that was not completed.
        Glibc.unlink(path(new))
        guard Glibc.link(path(id), path(new)) == 0 else { throw .last(path(id)) }
    }

    /// Openers of the file continue under the new name.
    package func rename(_ file: ContentFile, to new: GenerationID) {
        openFiles.withLock { files in
            files[file.id] = nil
            files[new] = WeakFile(file: file)
            file.rename(to: new)
        }
    }

    /// Whether another user can still change the file: a passthrough handle, or a mapping that outlived one.
    ///
    /// fcntl(2), F_SETLEASE: a read lease is granted when no one has the file open for writing. Where this process has
    /// it open, only a write lease can tell, and then a reader counts as well.
    package func isWritable(_ id: GenerationID) -> Bool {
        if let file = opened(id) { return file.isUsedElsewhere }
        let descriptor = Glibc.open(path(id), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return clinux_try_read_lease(descriptor) != 0 && (errno == EAGAIN || errno == EBUSY)
    }

    /// Removes a generation's file; its openers keep it.
    package func remove(_ id: GenerationID) {
        Glibc.unlink(path(id))
        forget(id)
    }

    /// The next opener gets the file that is there then.
    func forget(_ id: GenerationID) { openFiles.withLock { $0[id] = nil } }

    /// Whether a file at `path` takes space on the disk of the store.
    package func isOnItsDisk(_ path: String) -> Bool {
        var (own, other) = (stat(), stat())
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        return stat(directory, &own) == 0 && stat(folder, &other) == 0 && own.st_dev == other.st_dev
    }

    /// statvfs(2) of the store's disk.
    package func diskStatistics() throws(ContentError) -> statvfs {
        var statistics = statvfs()
        guard statvfs(directory, &statistics) == 0 else { throw .last(directory) }
        return statistics
    }

    /// Removes files that no catalog row names any more. Files of inodes above `highest` were never in this catalog (it
    /// was lost, or is an old copy), and labelled ones have changes that were never in the store: they may be the only
    /// copy, and go to `lost+found`, so that no new inode ever takes their names (`hydrant rescue` finds them there).
    ///
    /// - Parameter isCurrent: whether the catalog names it.
    /// - Returns: the new paths of those.
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
