public import FileProvider
import Glibc

/// New items.
extension DirectoryProvider {
    public func createItem(
        _ template: ItemTemplate, contents: (any ContentSource)?
    ) async throws(FileProviderError) -> Item {
        try Self.checkName(template.filename)
        let (name, modified) = (template.filename.bytes, Timestamp(template.contentModificationDate))
        let store = store
        if let contents, template.kind.isDocument {
            let folder = try await withFolder(template.parentIdentifier) { folder throws(FileProviderError) in
                try store.checkDepth(of: name, in: folder)
                return folder
            }
            do throws(FileProviderError) {
                return try await create(template, modified, contents: contents, in: folder)
            } catch {
                if error.errno == ENOENT { throw store.folderIsGone(folder, cause: error) }
                throw error
            }
        }
        return try await withFolder(template.parentIdentifier) { folder throws(FileProviderError) in
            try store.checkDepth(of: name, in: folder)
            do throws(FileProviderError) { try store.make(template, modified, in: folder) } catch {
                if error.code == .filenameCollision { throw store.collision(name, in: folder) }
                if error.errno == ENOENT { throw store.folderIsGone(folder, cause: error) }
                throw error
            }
            try folder.sync()
            return try store.item(name, in: folder)
        }
    }

    private func create(
        _ template: ItemTemplate, _ modified: Timestamp, contents: any ContentSource, in folder: Folder
    ) async throws(FileProviderError) -> Item {
        let name = template.filename.bytes
        // Fails early for a taken name, before the upload; a name that is taken meanwhile is seen below.
        try await blocking { [store] () throws(FileProviderError) in
            if try folder.status(of: name) != nil { throw store.collision(name, in: folder) }
        }
        let draft = try await draft(of: contents, in: folder)
        return try await discarding(draft) { () async throws(FileProviderError) in
            try checkCancellation()
            return try await blocking { [store] () throws(FileProviderError) in
                store.setUserAttributes(template, of: draft.descriptor, in: folder)
                try draft.finish(
                    permissions: (template.posixPermissions ?? 0o644) & Permissions.ofItems
                        | Permissions.setID(template.setID, for: draft.status), modified: modified)
                let ours = try draft.status
                store.sightings.expect(draft.digest, of: ours)
                defer { store.sightings.expectNoMore(ours) }
                store.seams.beforeCommit?()
                try store.checkRoot()
                do throws(FileProviderError) {
                    try store.renameWithoutReplacing(draft.name, in: folder, to: folder, as: name)
                } catch {
                    if error.code == .filenameCollision { throw store.collision(name, in: folder) }
                    // As FAT does for a colon. Folder and draft are fine, so the name is at fault.
                    guard error.errno == EINVAL else { throw error }
                    throw FileProviderError(.invalidName, error.message, cause: error.cause)
                }
                try folder.sync()
                do throws(FileProviderError) { return try store.item(name, in: folder, holding: ours) } catch {
                    // The item was made, but another program replaced it at once, and has the name.
                    if error.code == .versionMismatch { throw store.collision(name, in: folder) }
                    throw error
                }
            }
        }
    }

    /// Refuses names that would be a path, or one of the provider's own files.
    static func checkName(_ name: Filename) throws(FileProviderError) {
        if let problem = name.problem { throw FileProviderError(.invalidName, "\(name): \(problem)") }
        if OwnName.isOurs(name.bytes) {
            throw FileProviderError(.invalidName, "\(name): the name is used by hydrant itself")
        }
    }
}

extension Store {
    /// Makes a folder or a link: complete in a private place, then moved to its name.
    func make(
        _ template: ItemTemplate, _ modified: Timestamp, in parent: Folder
    ) throws(FileProviderError) {
        let path = parent.path(of: template.filename.bytes)
        if try parent.status(of: template.filename.bytes) != nil { throw Self.taken(path) }
        do throws(FileProviderError) {
            let workshop = try Workshop(in: parent, of: self)
            defer { workshop.discard() }
            switch template.kind {
            case .document: throw FileProviderError(.unsupported, "\(path): a document needs contents")
            case .folder: try makeFolder(template, modified, in: parent, workshop)
            case .symbolicLink(let target):
                let made = try makeLink(to: target, path: path, workshop)
                try naming(path) { () throws(SystemError) in try made.setModifiedOfPath(modified) }
                try put(workshop, at: template.filename.bytes, in: parent)
            }
        } catch {
            // Names of the provider's own files would only puzzle users.
            guard let cause = error.cause as? SystemError, error.code != .invalidName, error.code != .unsupported else {
                throw error
            }
            throw FileProviderError(cause, path: path)
        }
    }

    private func put(_ workshop: Workshop, at name: [UInt8], in parent: Folder) throws(FileProviderError) {
        do throws(FileProviderError) {
            try renameWithoutReplacing(workshop.content, in: workshop.folder, to: parent, as: name)
        } catch {
            let path = parent.path(of: name)
            switch error.errno {
            // Without an atomic rename, another folder may have come in between.
            case ENOTEMPTY, ENOTDIR, EISDIR: throw Self.taken(path)
            // As FAT does for a colon. The folder is fine, so the name is at fault.
            case EINVAL:
                throw FileProviderError(.invalidName, "\(path): the file system refuses this name", cause: error.cause)
            default: throw error
            }
        }
    }

    private static func taken(_ path: String) -> FileProviderError {
        FileProviderError(SystemError(number: EEXIST, call: "mkdir"), path: path)
    }

    private func makeFolder(
        _ template: ItemTemplate, _ modified: Timestamp, in parent: Folder, _ workshop: Workshop
    ) throws(FileProviderError) {
        let (name, path) = (template.filename.bytes, parent.path(of: template.filename.bytes))
        let made = try workshop.makeFolder()
        let status = try naming(path) { () throws(SystemError) in try made.status() }
        setUserAttributes(template, of: made, in: parent)
        // mkdir(2) applies the umask, but the user's mode must be set as it is. Setgid from the parent folder stays.
        let permissions =
            (template.posixPermissions ?? 0o755) & Permissions.ofItems | status.permissions & Permissions.setID
            | Permissions.setID(template.setID, for: status)
        // rename(2): moving a folder into another one requires the right to write to it.
        try setPermissions(permissions | 0o200, of: made, path: path)
        try naming(path) { () throws(SystemError) in try made.setModifiedOfPath(modified) }
        try put(workshop, at: name, in: parent)
        if permissions & 0o200 == 0 { try setPermissions(permissions, of: made, path: path) }
    }

    /// Set before the mode, which may remove the right to write.
    fileprivate func setUserAttributes(_ template: ItemTemplate, of file: Descriptor, in folder: Folder) {
        guard let attributes = template.extendedAttributes,
            keepsAttributes(folder.status, named: [UInt8(ascii: ".")], in: folder)
        else { return }
        setUserAttributes(
            attributes, of: AttributedFile(file), path: folder.path(of: template.filename.bytes))
    }

    private func makeLink(
        to target: [UInt8], path: String, _ workshop: Workshop
    ) throws(FileProviderError) -> Descriptor {
        guard !target.isEmpty, !target.contains(0) else {
            throw FileProviderError(.unsupported, "\(path): a link needs a target without NUL")
        }
        do throws(FileProviderError) { return try workshop.makeLink(to: target) } catch {
            guard error.errno == EPERM else { throw error }
            throw FileProviderError(.unsupported, "\(path): this file system has no symbolic links", cause: error.cause)
        }
    }

    /// On the file itself, through an O_PATH descriptor, so that no name is looked up again.
    func setPermissions(
        _ permissions: UInt16, of file: Descriptor, path: String
    ) throws(FileProviderError) {
        _ = try naming(path) { () throws(SystemError) in
            try check("chmod") { chmod("/proc/self/fd/\(file.number)", mode_t(permissions)) }
        }
    }

    /// The error for a name whose folder has been removed, unless the whole store is gone.
    fileprivate func folderIsGone(_ folder: Folder, cause: FileProviderError) -> FileProviderError {
        do throws(FileProviderError) { try checkRoot() } catch { return error }
        return FileProviderError(.noSuchItem, "\(folder.path()): the folder is gone", cause: cause.cause)
    }

    /// The error that the name is taken, with the item that has it.
    func collision(_ name: [UInt8], in folder: Folder) -> FileProviderError {
        FileProviderError(
            .filenameCollision, "\(folder.path(of: name)): the name is taken",
            item: try? lookUp(name, in: folder)?.item)
    }

    /// The item just put at `name`; for a document, `ours` is the file that was put there.
    ///
    /// - Throws: ``FileProviderError/Code/versionMismatch`` when another program has replaced the file already. If we
    ///   returned that version for our contents, the next change would overwrite the other program's, unseen.
    func item(_ name: [UInt8], in folder: Folder, holding ours: FileStatus? = nil) throws(FileProviderError) -> Item {
        seams.beforeReply?()
        // In microseconds. When another program exchanged its contents with ours too late, they are there for a moment,
        // until that program sees what it displaced: ours won.
        var pause: UInt32 = 1_000
        while true {
            guard let entry = try lookUp(name, in: folder) else {
                throw FileProviderError(
                    .cannotSynchronize, "\(folder.path(of: name)): removed by another program just now")
            }
            guard let ours, !entry.status.isUnchanged(since: ours, usesInodes: entry.usesInodes) else {
                return entry.item
            }
            guard pause < 100_000 else { throw entry.changed }
            usleep(pause)
            pause *= 4
        }
    }
}
