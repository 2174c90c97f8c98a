import FileProvider
import Glibc

/// What a user may do with the files of the store, as access(2) says it: permission bits, access lists, read-only disks.
///
/// A document is changed by putting another file in its place, so for that its folder counts as well. What its owner
/// could allow himself with chmod(2) counts as allowed: the permission bits, which are shown, say the rest.
struct Access {
    /// Root may everything.
    let user: uid_t

    func capabilities(of status: FileStatus, named name: [UInt8], in folder: Folder) -> ItemCapabilities {
        // rename(2), rmdir(2): EBUSY.
        let here: ItemCapabilities = status.isMountPoint ? [.renaming, .deleting] : []
        guard user != 0 else { return .all.subtracting(here) }
        var may: ItemCapabilities = []
        let isOwner = status.owner == user
        // unlink(2), rename(2): in a folder with the sticky bit only what is one's own.
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

    /// The topmost folder has no folder above it here, and its mode is not ours to change.
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
    /// faccessat(2), with the rights that this thread has for files.
    fileprivate func mayAccess(_ name: [UInt8], _ mode: Int32) -> Bool {
        withName(name) { faccessat(descriptor.number, $0, mode, AT_EACCESS | AT_SYMLINK_NOFOLLOW) } == 0
    }

    /// As access(2) says, or as its owner could make it say with chmod(2): not on a read-only disk (EROFS), and not of what
    /// may never be changed (EPERM, chattr(1)).
    fileprivate func lets(_ name: [UInt8], _ mode: Int32, isOwner: Bool) -> Bool {
        mayAccess(name, mode) || (isOwner && errno == EACCES)
    }
}
