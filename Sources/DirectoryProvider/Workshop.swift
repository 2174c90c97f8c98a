import FileProvider
import Glibc

/// A private folder beside the place of a new folder or link, in which no other user can exchange anything.
///
/// mkdir(2) opens nothing. In a folder of the store, another user who may write to it could put a private folder of a
/// third user in the place of the new one before it is opened, which would then get the mode of the new one. A folder
/// made here and then opened is the one that was made; it moves to its place complete, in one step.
struct Workshop {
    let folder: Folder
    /// The name of the new item: a draft's name, so that removing a forgotten one never removes anything else.
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
            // Locked during its use, as a draft is. A workshop that was swept up before it was locked is made anew.
            guard let folder = try parent.folder(name), flock(folder.descriptor.number, LOCK_EX | LOCK_NB) == 0,
                try parent.status(of: name)?.isSameFile(as: folder.status) == true
            else { continue }
            guard try store.isPrivate(folder.status, in: parent), try folder.names().isEmpty else { break }
            (self.folder, self.parent, self.name) = (folder, parent, name)
            return
        }
        throw FileProviderError(.busy, "\(parent.path()): another program keeps replacing new items")
    }

    /// A new folder in it, with mode 0700, not readable.
    func makeFolder() throws(FileProviderError) -> Descriptor {
        try folder.makeFolder(content, mode: 0o700)
        return try folder.openPath(content)
    }

    func makeLink(to target: [UInt8]) throws(FileProviderError) -> Descriptor {
        try folder.makeLink(content, target: target)
        return try folder.openPath(content)
    }

    /// Removes it. Best effort: a leftover is swept up later.
    func discard() {
        Self.empty(folder)
        try? parent.removeFolder(name)
    }

    /// Removes a forgotten workshop. Files that are not ours stay, and so does the folder.
    static func remove(_ name: [UInt8], in parent: Folder) throws(FileProviderError) {
        if let folder = try parent.folder(name) { empty(folder) }
        try parent.removeFolder(name)
    }

    private static func empty(_ folder: Folder) {
        for name in (try? folder.names()) ?? [] where TemporaryName.kind(of: name) == .draft {
            switch (try? folder.status(of: name))?.kind {
            case .folder: try? folder.removeFolder(name)
            case .link: try? folder.unlink(name)
            default: break  // Not a workshop's file. A draft there may be in use.
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
    /// Whether only this user can change the contents of a folder just made with mode 0700.
    fileprivate func isPrivate(_ status: FileStatus, in parent: Folder) throws(FileProviderError) -> Bool {
        let isClosed = status.permissions & 0o077 == 0
        if status.owner == user, isClosed { return true }
        // A file system may give all files one owner (NFS), and no modes (FAT): compare with a file that is certainly
        // ours.
        let draft = try Draft(in: parent)
        defer { draft.discard() }
        let own = try draft.status
        return status.owner == own.owner && (isClosed || own.permissions & 0o077 != 0)
    }
}
