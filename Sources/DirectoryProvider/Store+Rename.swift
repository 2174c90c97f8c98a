import CLinux
import FileProvider
import Glibc

/// Renames that never replace a file unseen.
extension Store {
    enum RenameFlag {
        case noReplace, exchange
        fileprivate var value: UInt32 {
            self == .exchange ? CLINUX_RENAME_EXCHANGE : CLINUX_RENAME_NOREPLACE
        }
    }

    func renameAtomically(
        _ name: [UInt8], in folder: Folder, to newFolder: Folder, as newName: [UInt8], flag: RenameFlag
    ) throws(FileProviderError) {
        if seams.renameFlagsUnsupported {
            throw FileProviderError(
                SystemError(number: EINVAL, call: "renameat2"), path: folder.path(of: name))
        }
        try folder.rename(name, to: newFolder, as: newName, flags: flag.value)
    }

    /// Where the file system lacks RENAME_NOREPLACE, a document or link gets its second name before it loses the first,
    /// which is as safe; a folder (and everything where there are no hard links) is renamed after a check, which is
    /// not: another program may take the name in between.
    func renameWithoutReplacing(
        _ name: [UInt8], in folder: Folder, to newFolder: Folder, as newName: [UInt8]
    ) throws(FileProviderError) {
        do throws(FileProviderError) {
            return try renameAtomically(name, in: folder, to: newFolder, as: newName, flag: .noReplace)
        } catch {
            if !error.saysFlagUnsupported { throw error }
        }
        let kind = try folder.status(of: name)?.kind
        if kind == .document || kind == .link {
            do throws(FileProviderError) {
                try folder.link(name, to: newFolder, as: newName)
                return try folder.unlink(name)
            } catch {
                // FAT has no hard links either.
                if ![EPERM, EOPNOTSUPP].contains(error.errno) { throw error }
            }
        }
        if try newFolder.status(of: newName) != nil {
            throw FileProviderError(
                SystemError(number: EEXIST, call: "rename"), path: newFolder.path(of: newName))
        }
        try folder.rename(name, to: newFolder, as: newName)
    }
}
