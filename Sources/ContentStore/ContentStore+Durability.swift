import CLinux
import Glibc
import Locking

/// What survives power loss.
extension ContentStore {
    /// When this returns, earlier writes to a generation survive power loss, with the file's date and its name.
    ///
    /// Source: fsync(2), *Calling fsync() does not necessarily ensure that the entry in the directory …*
    /// - Parameter content: the open file: the generation may have been removed since.
    /// - Returns: the durable state of the file; nil when it was written meanwhile, or has no name any more.
    package func synchronize(_ id: GenerationID, _ content: ContentFile? = nil) throws(ContentError) -> ContentStat? {
        let before = status(id)
        if let file = content ?? opened(id) {
            // It may have no name any more: then only its openers use it.
            guard fsync(file.descriptor) == 0 else { throw .last(path(id)) }
            if before == nil { return nil }
        } else {
            try synchronize(path(id))
        }
        try synchronizeName(id)
        let after = status(id)
        return before?.size == after?.size && before?.modified == after?.modified ? after : nil
    }

    /// fdatasync(2); does nothing for a generation that is gone.
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

    /// syncfs(2): syncs the whole file system of the store.
    package func synchronizeAll() throws(ContentError) {
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .last(directory) }
        defer { close(descriptor) }
        guard clinux_sync_file_system(descriptor) == 0 else { throw .last(directory) }
    }

    private func synchronizeName(_ id: GenerationID) throws(ContentError) {
        if journal.namesComeWithFiles || durableNames.withLock({ $0.contains(id) }) { return }
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

    // MARK: Marks of syncs

    /// Whether the file system keeps the order of changes, so that a mark of a sync says something
    /// (``setSyncMark(_:of:)``).
    package var keepsOrder: Bool { journal.keepsOrder }

    /// Marks a file, after ``ContentFile/writeOut()`` and before the sync: if the mark is there after a power loss, so
    /// are the bytes and the size that were written out before it.
    ///
    /// The reason is that the file system's journal keeps the order (``Journal``): the change that makes the bytes a part
    /// of the file came before the mark, and before a part of the journal reaches the disk, the disk's cache is emptied,
    /// which has the bytes.
    ///
    /// - Returns: false where the file cannot have one.
    package func setSyncMark(_ mark: UInt64, of content: ContentFile) -> Bool {
        withUnsafeBytes(of: mark) { fsetxattr(content.descriptor, Self.syncMark, $0.baseAddress, $0.count, 0) == 0 }
    }

    /// The mark of the last sync that was begun; nil: none.
    package func syncMark(of id: GenerationID) -> UInt64? {
        var mark: UInt64 = 0
        let count = withUnsafeMutableBytes(of: &mark) { getxattr(path(id), Self.syncMark, $0.baseAddress, $0.count) }
        return count == MemoryLayout<UInt64>.size ? mark : nil
    }

    private static let syncMark = FileLabel.prefix + "synced"
}

extension ContentFile {
    /// Returns when the disk (its cache at least) has the bytes that were written before: sync_file_range(2). Nothing of
    /// that survives power loss before a sync.
    package func writeOut() throws(ContentError) {
        guard clinux_write_out(descriptor) == 0 else { throw .last(path) }
    }
}
