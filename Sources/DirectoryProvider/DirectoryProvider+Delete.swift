public import FileProvider
import Glibc

/// Deletions.
extension DirectoryProvider {
    /// A document is first moved aside, and unlinked if the moved file has the base version: so contents that another
    /// program wrote at that moment are not deleted.
    public func deleteItem(
        _ identifier: ItemIdentifier, baseVersion: ItemVersion
    ) async throws(FileProviderError) {
        if identifier == .rootContainer {
            throw FileProviderError(.unsupported, "the topmost folder cannot be deleted")
        }
        try await withEntry(identifier) { [store] entry throws(FileProviderError) in
            if entry.status.kind == .folder {
                try store.deleteFolder(entry)
            } else {
                try store.delete(entry, base: baseVersion.content)
                store.forgetThumbnails(of: entry.name, in: entry.folder)
            }
            try entry.folder.sync()
            store.index.forget(identifier)
            if entry.status.links <= 1 { store.sightings.forget(identifier) }
        }
    }
}

extension Store {
    fileprivate func delete(_ entry: Entry, base: ContentVersion) throws(FileProviderError) {
        try entry.check(at: base)
        let (folder, aside) = (entry.folder, TemporaryName.make(.aside))
        seams.beforeCommit?()
        do throws(FileProviderError) {
            try renameWithoutReplacing(entry.name, in: folder, to: folder, as: aside)
        } catch {
            if error.errno == ENOENT {
                throw FileProviderError(.busy, "\(entry.path): moved by another program", cause: error.cause)
            }
            throw error
        }
        if try isStill(entry, at: aside) {
            seams.beforeUnlink?()
            // A program that still has the file open may have written just now.
            if try isStill(entry, at: aside) { return try folder.unlink(aside) }
        }
        try putBack(aside, to: entry)
    }

    private func isStill(_ entry: Entry, at aside: [UInt8]) throws(FileProviderError) -> Bool {
        guard let status = try entry.folder.status(of: aside) else { return false }
        return status.isUnchanged(since: entry.status, usesInodes: entry.usesInodes)
    }

    private func putBack(_ aside: [UInt8], to entry: Entry) throws(FileProviderError) {
        do throws(FileProviderError) {
            try renameWithoutReplacing(aside, in: entry.folder, to: entry.folder, as: entry.name)
        } catch {
            guard error.code == .filenameCollision else { throw error }
            try keep(
                aside, in: entry.folder, besides: entry.name,
                reason: "it changed during its deletion, and its name is taken")
            signal(entry.folder.identifier)
        }
        let now = try lookUp(entry.name, in: entry.folder)
        throw FileProviderError(
            .versionMismatch, "\(entry.path): was changed by another program", item: now?.item)
    }

    fileprivate func deleteFolder(_ entry: Entry) throws(FileProviderError) {
        do throws(FileProviderError) { try entry.folder.removeFolder(entry.name) } catch {
            guard error.code == .directoryNotEmpty || error.errno == EEXIST else {
                if error.errno == ENOENT || error.errno == ENOTDIR {
                    throw FileProviderError(
                        .busy, "\(entry.path): moved by another program", cause: error.cause)
                }
                throw error
            }
            // Our own files are invisible to users, so they are no reason to refuse. A file set aside by a killed
            // daemon may be the only copy of a document: it moves to the folder above.
            guard let inside = try open(entry.name, in: entry.folder), inside.identifier == entry.identifier
            else { throw error }
            let names = try inside.names()
            guard names.allSatisfy(OwnName.isOurs) else {
                throw FileProviderError(.directoryNotEmpty, "\(entry.path): not empty", cause: error.cause)
            }
            for name in names {
                if name == KeptThumbnails.folder {
                    try removeThumbnails(of: inside)
                } else if TemporaryName.kind(of: name) == .draft {
                    try Draft.remove(name, in: inside)
                } else {
                    try renameWithoutReplacing(name, in: inside, to: entry.folder, as: TemporaryName.make(.aside))
                }
            }
            try entry.folder.removeFolder(entry.name)
        }
    }
}
