public import FileProvider
import Glibc
import Logging

/// Changes of documents.
extension DirectoryProvider {
    /// The new contents are written beside the document and exchanged with it in one step; then the displaced file is
    /// checked. If it does not have the base version, another program was faster: the exchange is undone, or, when even
    /// that comes too late, both versions are kept. Only the base version itself is ever unlinked.
    ///
    /// A document with several names is replaced under this one; the others keep the old contents.
    public func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata,
        baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        let base = baseVersion.content
        let folder = try await withEntry(identifier) { entry throws(FileProviderError) in
            try entry.checkIsDocument(at: base)
            return entry.folder
        }
        let draft = try await draft(of: contents, in: folder)
        return try await discarding(draft) { () async throws(FileProviderError) in
            try checkCancellation()
            // Looked up again: it may have been renamed during the upload.
            return try await withEntry(identifier) { [store] entry throws(FileProviderError) in
                try entry.checkIsDocument(at: base)
                try store.dress(draft, as: entry, metadata)
                let item = try store.commit(draft, over: entry, base: base)
                if let digest = draft.digest, digest == entry.digest {
                    store.keepThumbnail(of: entry, at: item)
                } else {
                    store.forgetThumbnails(of: entry.name, in: entry.folder)
                }
                return item
            }
        }
    }
}

extension Entry {
    func checkIsDocument(at base: ContentVersion) throws(FileProviderError) {
        guard status.kind == .document else {
            throw FileProviderError(.unsupported, "\(path): not a document")
        }
        try check(at: base)
    }

    func check(at base: ContentVersion) throws(FileProviderError) {
        if contentVersion != base { throw changed }
    }

    var changed: FileProviderError {
        FileProviderError(.versionMismatch, "\(path): was changed by another program", item: item)
    }
}

extension Store {
    /// Gives the draft the attributes of the document that it replaces.
    fileprivate func dress(
        _ draft: Draft, as old: Entry, _ metadata: ItemMetadata
    ) throws(FileProviderError) {
        let file = draft.descriptor
        // Only root may change the owner of a file; every user may change the group to one of their groups.
        if fchown(file.number, old.status.owner, old.status.group) != 0 {
            _ = fchown(file.number, .max, old.status.group)
        }
        let status = try draft.status
        let permissions = Self.permissions(metadata, of: status, replacing: old)
        if old.usesInodes, let value = Identity.attributeValue(old.identifier, for: status) {
            // Before the user's attributes, which may fill the space. Without this attribute the document would return
            // as another item: fail instead.
            try naming(old.path) { () throws(SystemError) in
                try AttributedFile(file).set(Identity.attribute, to: value)
            }
            sightings.believe(old.identifier, of: status)
        }
        try setAccessList(of: old, to: file, isOfSameGroup: status.group == old.status.group)
        if let attributes = metadata.extendedAttributes ?? old.attributes, keepsAttributes(of: old) {
            setUserAttributes(attributes, of: AttributedFile(file), path: old.path)
            carryLeftOutAttributes(of: old, to: file)
        }
        var modified = Timestamp(metadata.contentModificationDate)
        // Without inodes, only size and date distinguish two contents: change the date.
        for step: Int64 in [1, 1_000, 1_000_000, 10_000_000, 2_000_000_000] {
            try draft.finish(permissions: permissions, modified: modified)
            let new = Entry.contentVersion(of: try draft.status, usesInodes: old.usesInodes)
            if new != old.contentVersion { break }
            modified = Timestamp(
                FileTime(seconds: modified.seconds, nanoseconds: Int64(modified.nanoseconds) + step))
        }
    }

    private static func permissions(
        _ metadata: ItemMetadata, of draft: FileStatus, replacing old: Entry
    ) -> UInt16 {
        var mode = old.status.permissions & Permissions.ofItems
        if let wanted = metadata.posixPermissions {
            mode = Permissions.merged(wanted, over: mode, shownAs: old.permissions)
        }
        // A group that the draft does not have must not pass its rights to another group. (With a list these bits are
        // its mask.)
        if draft.group != old.status.group, old.accessList == nil { mode &= ~0o070 | (mode & 7) << 3 }
        return mode | Permissions.setID(metadata.setID, for: draft)
    }

    /// Replaces `old`, whose contents have the version `base`, by the draft.
    fileprivate func commit(
        _ draft: Draft, over old: Entry, base: ContentVersion
    ) throws(FileProviderError) -> Item {
        // After the exchange, the name may be the only one of another program's version.
        let aside = TemporaryName.make(.aside)
        let ours = try draft.status
        sightings.expect(draft.digest, of: ours)
        defer { sightings.expectNoMore(ours) }
        seams.beforeCommit?()
        do throws(FileProviderError) {
            try draft.folder.rename(draft.name, to: draft.folder, as: aside)
            try renameAtomically(aside, in: draft.folder, to: old.folder, as: old.name, flag: .exchange)
        } catch {
            // Under its own name again, for its removal.
            try? draft.folder.rename(aside, to: draft.folder, as: draft.name)
            guard error.saysFlagUnsupported else { throw error }
            return try renameOver(old, with: draft, base: base)
        }
        seams.afterExchange?()
        let exchange = Exchange(store: self, place: old, asideFolder: draft.folder, aside: aside, ours: ours)
        try exchange.settle()
        try old.folder.sync()
        return try item(old.name, in: old.folder, holding: ours)
    }

    /// For a file system that cannot exchange: a check right before, and none after.
    private func renameOver(
        _ old: Entry, with draft: Draft, base: ContentVersion
    ) throws(FileProviderError) -> Item {
        guard let now = try lookUp(old.name, in: old.folder), now.identifier == old.identifier else {
            throw FileProviderError(.busy, "\(old.path): moved by another program just now")
        }
        try now.check(at: base)
        let ours = try draft.status
        try draft.folder.rename(draft.name, to: old.folder, as: old.name)
        try old.folder.sync()
        return try item(old.name, in: old.folder, holding: ours)
    }
}
