public import FileProvider
import Glibc

/// Renames and moves.
extension DirectoryProvider {
    /// Where identifiers are paths, the returned item has another identifier, as do all items in a folder.
    public func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename,
        baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try Self.checkName(filename)
        if identifier == .rootContainer {
            throw FileProviderError(.unsupported, "the topmost folder cannot be moved")
        }
        let target = try await withFolder(folder) { $0 }
        return try await withEntry(identifier) { [store] entry throws(FileProviderError) in
            try store.move(entry, to: target, as: filename.bytes, base: baseVersion.metadata)
        }
    }
}

extension Store {
    fileprivate func move(
        _ entry: Entry, to folder: Folder, as name: [UInt8], base: MetadataVersion
    ) throws(FileProviderError) -> Item {
        // Already there: moved by us, and the reply was lost, or by another program.
        if entry.folder.identifier == folder.identifier, entry.name == name { return entry.item }
        guard entry.isInPlace(of: base) else {
            throw FileProviderError(
                .versionMismatch, "\(entry.path): was moved by another program", item: entry.item)
        }
        if entry.status.kind == .folder,
            folder.components.starts(with: entry.folder.components + [entry.name])
        {
            throw FileProviderError(
                .unsupported, "\(entry.path): a folder cannot be moved into itself (\(folder.path()))")
        }
        try checkDepth(of: name, in: folder)
        seams.beforeCommit?()
        try rename(entry, to: folder, as: name)
        // By name: another file may have taken the name before the rename.
        if entry.usesInodes, let moved = try folder.status(of: name), !moved.isSameFile(as: entry.status) {
            try? renameWithoutReplacing(name, in: folder, to: entry.folder, as: entry.name)
            throw FileProviderError(.busy, "\(entry.path): replaced by another program just now")
        }
        moveThumbnail(of: entry, to: folder, as: name)
        try folder.sync()
        if folder !== entry.folder { try entry.folder.sync() }
        if !entry.usesInodes { index.forget(entry.identifier) }
        return try item(name, in: folder)
    }

    private func rename(
        _ entry: Entry, to folder: Folder, as name: [UInt8]
    ) throws(FileProviderError) {
        do throws(FileProviderError) {
            try renameWithoutReplacing(entry.name, in: entry.folder, to: folder, as: name)
        } catch {
            guard error.code == .filenameCollision else {
                if error.errno == EINVAL || error.errno == ENOENT {
                    throw FileProviderError(
                        .busy, "\(entry.path): moved by another program", cause: error.cause)
                }
                throw error
            }
            let taken = collision(name, in: folder)
            // Only the case differs, and the file system ignores case: the name is its own.
            guard entry.usesInodes, taken.item?.identifier == entry.identifier else { throw taken }
            try entry.folder.rename(entry.name, to: folder, as: name)
        }
    }
}
