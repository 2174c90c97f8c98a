import FileProvider
import Glibc
import Logging

/// After the new contents were exchanged with a document: what was displaced is somebody's, until it is
/// proved to be the base version.
struct Exchange {
    let store: Store
    /// Where the document was, and the new contents are now.
    let place: Entry
    let asideFolder: Folder
    /// The name under which the displaced file is.
    let aside: [UInt8]
    /// What we put there.
    let ours: FileStatus

    /// - Throws: ``FileProviderError/Code/versionMismatch`` when another version had arrived.
    func settle() throws(FileProviderError) {
        guard let displaced = try asideFolder.status(of: aside) else {
            throw FileProviderError(.cannotSynchronize, "\(place.path): what was displaced has vanished")
        }
        guard isBase(displaced) else { return try undo() }
        store.seams.beforeUnlink?()
        // Whoever still has it open may have written just now.
        let last = try asideFolder.status(of: aside)
        if let last, isBase(last) {
            try asideFolder.unlink(aside)
        } else {
            // Ours stands, rightly: it replaced the base. What came after that is kept beside it.
            try keepAside()
        }
        if asideFolder !== place.folder { try asideFolder.sync() }
    }

    /// What was in the place when it was seen to have the base version. (The exchange itself changes the change time.)
    private func isBase(_ status: FileStatus) -> Bool {
        status.kind == .document && status.isUnchanged(since: place.status, usesInodes: place.usesInodes)
    }

    /// Exchanges back, if our file is still there as we put it, and proves that it was ours which came back.
    private func undo() throws(FileProviderError) {
        guard try isOurs(place.name, in: place.folder) else { return try giveWay() }
        try store.renameAtomically(
            aside, in: asideFolder, to: place.folder, as: place.name, flag: .exchange)
        guard try isOurs(aside, in: asideFolder) else { return try giveWay() }
        try asideFolder.unlink(aside)
        throw try mismatch()
    }

    private func isOurs(_ name: [UInt8], in folder: Folder) throws(FileProviderError) -> Bool {
        try folder.status(of: name)?.isUnchanged(since: ours, usesInodes: place.usesInodes) ?? false
    }

    /// Too late for going back: yet another version is in our place. It stays, and the file set aside
    /// gets a name.
    private func giveWay() throws(FileProviderError) {
        try keepAside()
        throw try mismatch()
    }

    private func keepAside() throws(FileProviderError) {
        try store.keep(
            aside, in: asideFolder, besides: place.name, reason: "two programs changed it at one time")
        store.signal(asideFolder.identifier)
        try asideFolder.sync()
    }

    private func mismatch() throws(FileProviderError) -> FileProviderError {
        let now = try store.look(at: place.name, in: place.folder)
        return FileProviderError(
            .versionMismatch, "\(place.path): was changed by another program", item: now?.item)
    }
}
