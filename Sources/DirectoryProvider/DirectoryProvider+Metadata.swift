public import FileProvider
import Glibc

/// Dates and permissions that are set by themselves.
extension DirectoryProvider {
    /// The modification time is part of a document's content version, so the item that is returned has
    /// another one. A document whose contents are not at `baseVersion` is refused: with the old date it
    /// could pass for the old contents. (A program that writes into it between this check and the change
    /// of the date, some microseconds, hides its change until it writes again.)
    public func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        if identifier == .rootContainer {
            throw FileProviderError(.unsupported, "the topmost folder's metadata is not ours to change")
        }
        return try await withEntry(identifier) { [store] entry throws(FileProviderError) in
            try entry.check(at: baseVersion.content)
            try store.set(metadata, of: entry)
            return try store.item(entry.name, in: entry.folder)
        }
    }
}

extension Store {
    /// Through one descriptor, so that date and mode go to the file that was looked at.
    fileprivate func set(_ metadata: ItemMetadata, of entry: Entry) throws(FileProviderError) {
        let modified = Timestamp(metadata.contentModificationDate)
        // A link has no permissions of its own.
        if entry.status.kind == .link { return try entry.folder.setModified(modified, of: entry.name) }
        let file = try entry.folder.openPath(entry.name)
        let now = try naming(entry.path) { () throws(SystemError) in try file.status() }
        let isSame =
            entry.status.kind == .folder
            ? now.isSameFile(as: entry.status)
            : now.isUnchanged(since: entry.status, usesInodes: entry.usesInodes)
        guard isSame else { throw entry.changed }
        if let permissions = metadata.posixPermissions {
            try setPermissions(permissions, of: file, path: entry.path)
        }
        try naming(entry.path) { () throws(SystemError) in try file.setModifiedOfPath(modified) }
    }
}
