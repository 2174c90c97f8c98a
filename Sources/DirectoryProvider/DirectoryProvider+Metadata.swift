public import FileProvider
import Glibc

/// Changes of dates and permissions alone.
extension DirectoryProvider {
    /// The modification time is part of a document's content version, so the returned item has another version. A
    /// document whose contents do not have the version `baseVersion` is refused: with the old date it could pass for
    /// the old contents. (A program that writes into the document between this check and the change of the date, some
    /// microseconds, hides its change until it writes again.)
    public func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        if identifier == .rootContainer {
            throw FileProviderError(.unsupported, "the metadata of the topmost folder cannot be changed")
        }
        return try await withEntry(identifier) { [store] entry throws(FileProviderError) in
            try entry.check(at: baseVersion.content)
            let ours = try store.set(metadata, of: entry)
            if let ours { store.sightings.noteOwnChange(identifier, ours) }
            return try store.item(
                entry.name, in: entry.folder, holding: entry.status.kind == .document ? ours : nil)
        }
    }
}

extension Store {
    /// Uses one descriptor, so that date and mode are set on the file that was checked.
    ///
    /// - Returns: the file's status afterwards; nil for a link.
    fileprivate func set(_ metadata: ItemMetadata, of entry: Entry) throws(FileProviderError) -> FileStatus? {
        let modified = Timestamp(metadata.contentModificationDate)
        seams.beforeOpening?()
        let file = try entry.folder.openPath(entry.name)
        let now = try naming(entry.path) { () throws(SystemError) in try file.status() }
        guard entry.isOf(now) else { throw entry.changed }
        if entry.status.kind == .link {
            // A link has no permissions of its own.
            try naming(entry.path) { () throws(SystemError) in try file.setModifiedOfPath(modified) }
            return nil
        }
        var permissions = metadata.posixPermissions.map { wanted in
            // A folder may have setgid to pass on its group; a mount does not show it.
            let kept = entry.status.kind == .folder ? now.permissions & Permissions.setID : 0
            return Permissions.merged(wanted, over: now.permissions, shownAs: entry.permissions) | kept
                | Permissions.setID(metadata.setID, for: now)
        }
        if let attributes = metadata.extendedAttributes, attributes != entry.attributes,
            keepsAttributes(of: entry)
        {
            // xattr(7): reading and writing attributes needs the same rights as the contents, so the mode may deny it
            // even to the owner. Other users must do with their rights.
            let needed = now.permissions | 0o600
            if needed != now.permissions, (try? setPermissions(needed, of: file, path: entry.path)) != nil {
                permissions = permissions ?? now.permissions
            }
            setUserAttributes(attributes, of: AttributedFile(file), path: entry.path)
        }
        let before = try naming(entry.path) { () throws(SystemError) in try file.status() }
        if let permissions, permissions != before.permissions {
            try setPermissions(permissions, of: file, path: entry.path)
        }
        return try naming(entry.path) { () throws(SystemError) in
            try file.setModifiedOfPath(modified)
            return try file.status()
        }
    }
}

extension Entry {
    /// Whether the opened file is the one that was checked. Where inodes are not stable, it has at least the same
    /// owner: the mode of one user's document never goes to another user's.
    fileprivate func isOf(_ now: FileStatus) -> Bool {
        guard now.kind == status.kind else { return false }
        let isSame =
            usesInodes || status.kind == .folder
            ? now.isSameFile(as: status)
            : now.owner == status.owner && now.group == status.group && now.permissions == status.permissions
        return isSame && (status.kind != .document || now.isUnchanged(since: status, usesInodes: usesInodes))
    }
}
