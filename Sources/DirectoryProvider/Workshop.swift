import FileProvider
import Glibc

/// A folder of our own beside the place of a new folder or link, where nobody but this user can exchange anything.
///
/// mkdir(2) opens nothing. In a folder of the store, whoever else may write to it could put somebody's private folder in the
/// place of the new one before it is opened, and that one would get the mode of the new one. What is made in here and then
/// opened is what was made; it goes to its place complete, in one step.
struct Workshop {
    let folder: Folder
    /// What is made in it is called so: a draft's name, so that nothing else is ever removed with a forgotten one.
    let content = TemporaryName.make(.draft)
    private let parent: Folder
    private let name: [UInt8]
    private static let mostAttempts = 16

    /// - Throws: ``FileProviderError/Code/busy`` when another program put something else in its place.
    init(in parent: Folder, of store: Store) throws(FileProviderError) {
        for _ in 0..<Self.mostAttempts {
            let name = TemporaryName.make(.draft)
            try parent.makeFolder(name, mode: 0o700)
            store.seams.afterMakingFolder?(name)
            // Locked for as long as somebody is at work in it, as a draft is. One that was swept up before the lock was
            // there is begun anew.
            guard let folder = try parent.folder(name), flock(folder.descriptor.number, LOCK_EX | LOCK_NB) == 0,
                try parent.status(of: name)?.isSameFile(as: folder.status) == true
            else { continue }
            guard try store.isPrivate(folder.status, in: parent), try folder.names().isEmpty else { break }
            (self.folder, self.parent, self.name) = (folder, parent, name)
            return
        }
        throw FileProviderError(.busy, "\(parent.path()): another program exchanges what is made in it")
    }

    /// A new folder in it, with mode 0700, not for reading.
    func makeFolder() throws(FileProviderError) -> Descriptor {
        try folder.makeFolder(content, mode: 0o700)
        return try folder.openPath(content)
    }

    func makeLink(to target: [UInt8]) throws(FileProviderError) -> Descriptor {
        try folder.makeLink(content, target: target)
        return try folder.openPath(content)
    }

    /// Leaves no trace. Best effort: what stays is swept up later.
    func discard() {
        Self.empty(folder)
        try? parent.removeFolder(name)
    }

    /// Removes a forgotten one. What is not ours in it stays, and it then, too.
    static func remove(_ name: [UInt8], in parent: Folder) throws(FileProviderError) {
        if let folder = try parent.folder(name) { empty(folder) }
        try parent.removeFolder(name)
    }

    private static func empty(_ folder: Folder) {
        for name in (try? folder.names()) ?? [] where TemporaryName.kind(of: name) == .draft {
            switch (try? folder.status(of: name))?.kind {
            case .folder: try? folder.removeFolder(name)
            case .link: try? folder.unlink(name)
            default: break  // None of a workshop's. Somebody may be at work on a draft there.
            }
        }
    }
}

extension Folder {
    /// The folder `name` in it, opened for reading; nil when there is none.
    fileprivate func folder(_ name: [UInt8]) throws(FileProviderError) -> Folder? {
        do throws(FileProviderError) {
            let descriptor = try open(name, O_RDONLY | O_DIRECTORY)
            let status = try naming(path(of: name)) { () throws(SystemError) in try descriptor.status() }
            return inner(descriptor, named: name, status: status)
        } catch {
            if error.saysAbsent { return nil }
            throw error
        }
    }
}

extension Store {
    /// Whether only this user can change what is in a folder that has just been made with mode 0700.
    fileprivate func isPrivate(_ status: FileStatus, in parent: Folder) throws(FileProviderError) -> Bool {
        let isClosed = status.permissions & 0o077 == 0
        if status.owner == user, isClosed { return true }
        // A file system may have one owner for everything that comes from here (NFS), and no modes (FAT): how that looks
        // shows a file that is surely ours.
        let draft = try Draft(in: parent)
        defer { draft.discard() }
        let own = try draft.status
        return status.owner == own.owner && (isClosed || own.permissions & 0o077 != 0)
    }
}
