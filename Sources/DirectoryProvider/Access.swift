import FileProvider
import Glibc

/// The operations that a user may do on files of the store, by access(2): permission bits, access lists, read-only
/// disks.
///
/// A document is changed by replacing its file, so its folder counts as well. Rights that the owner could get with
/// chmod(2) count as granted: the permission bits, which are shown, express the rest.
struct Access {
    /// Root may do everything.
    let user: uid_t

    func capabilities(of status: FileStatus, named name: [UInt8], in folder: Folder) -> ItemCapabilities {
        // rename(2), rmdir(2): EBUSY.
        let here: ItemCapabilities = status.isMountPoint ? [.renaming, .deleting] : []
        guard user != 0 else { return .all.subtracting(here) }
        var may: ItemCapabilities = []
        let isOwner = status.owner == user
        // unlink(2), rename(2): in a folder with the sticky bit, users may replace only their own files.
        let isSticky = folder.status.permissions & 0o1000 != 0 && folder.status.owner != user
        let ownsFolder = folder.status.owner == user && folder.identifier != .rootContainer
        let mayReplace =
            folder.lets([UInt8(ascii: ".")], W_OK | X_OK, isOwner: ownsFolder) && (!isSticky || isOwner)
        if mayReplace { may.formUnion([.renaming, .deleting]) }
        switch status.kind {
        case .document, .special:
            if folder.lets(name, R_OK, isOwner: isOwner) { may.insert(.reading) }
            if mayReplace, isOwner || folder.mayAccess(name, W_OK) { may.insert(.writing) }
            may.insert(.addingSubItems)
        case .folder:
            if folder.lets(name, R_OK | X_OK, isOwner: isOwner) { may.insert(.reading) }
            if folder.lets(name, W_OK | X_OK, isOwner: isOwner) { may.insert(.addingSubItems) }
            if isOwner { may.insert(.writing) }
        case .link:
            may.formUnion([.reading, .addingSubItems])
            if isOwner { may.insert(.writing) }
        }
        return may.subtracting(here)
    }

    /// The topmost folder has no folder above it here, and the provider must not change its mode.
    func capabilities(ofRoot root: Folder) -> ItemCapabilities {
        guard user != 0 else { return .all }
        var may: ItemCapabilities = [.renaming, .deleting]
        if root.mayAccess([UInt8(ascii: ".")], R_OK | X_OK) { may.insert(.reading) }
        if root.mayAccess([UInt8(ascii: ".")], W_OK | X_OK) { may.insert(.addingSubItems) }
        if root.status.owner == user { may.insert(.writing) }
        return may
    }
}

extension Folder {
    /// faccessat(2), with the effective rights of this thread.
    fileprivate func mayAccess(_ name: [UInt8], _ mode: Int32) -> Bool {
        withName(name) { faccessat(descriptor.number, $0, mode, AT_EACCESS | AT_SYMLINK_NOFOLLOW) } == 0
    }

    /// By access(2), or after a chmod(2) by the owner: not on a read-only disk (EROFS), and not for an immutable file
    /// (EPERM, chattr(1)).
    fileprivate func lets(_ name: [UInt8], _ mode: Int32, isOwner: Bool) -> Bool {
        mayAccess(name, mode) || (isOwner && errno == EACCES)
    }
}
