import FileProvider
import Glibc
import Logging

/// The state after new contents were exchanged with a document: the displaced file may be another program's version,
/// until it is shown to have the base version.
struct Exchange {
    let store: Store
    /// The document's place, with the new contents now.
    let place: Entry
    let asideFolder: Folder
    /// The name of the displaced file.
    let aside: [UInt8]
    /// Our new file.
    let ours: FileStatus

    /// - Throws: ``FileProviderError/Code/versionMismatch`` when another version had arrived.
    func settle() throws(FileProviderError) {
        guard let displaced = try asideFolder.status(of: aside) else {
            throw FileProviderError(.cannotSynchronize, "\(place.path): the displaced version has vanished")
        }
        guard isBase(displaced) else { return try undo() }
        store.seams.beforeUnlink?()
        // A program that still has the file open may have written just now.
        let last = try asideFolder.status(of: aside)
        if let last, isBase(last) {
            try asideFolder.unlink(aside)
        } else {
            // Ours replaced the base version, and stays. Contents written after that are kept beside it.
            try keepAside()
        }
        if asideFolder !== place.folder { try asideFolder.sync() }
    }

    /// Whether this is the file that had the base version. (The exchange itself changes the change time.)
    private func isBase(_ status: FileStatus) -> Bool {
        status.kind == .document && status.isUnchanged(since: place.status, usesInodes: place.usesInodes)
    }

    /// Exchanges back, if our file is still in place unchanged, and checks that our file came back.
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

    /// Too late to undo: another version is in our place. It stays, and the displaced file gets a visible name.
    private func giveWay() throws(FileProviderError) {
        try keepAside()
        throw try mismatch()
    }

    private func keepAside() throws(FileProviderError) {
        try store.keep(
            aside, in: asideFolder, besides: place.name, reason: "two programs changed it at the same time")
        store.signal(asideFolder.identifier)
        try asideFolder.sync()
    }

    private func mismatch() throws(FileProviderError) -> FileProviderError {
        let now = try store.lookUp(place.name, in: place.folder)
        return FileProviderError(
            .versionMismatch, "\(place.path): was changed by another program", item: now?.item)
    }
}
