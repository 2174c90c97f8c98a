internal import CFUSE
internal import Glibc

/// libfuse's table of C functions: each decodes its arguments and calls the file system. libfuse answers missing ones
/// with ENOSYS, and the kernel does what it does for a file system without them:
/// - `getlk`, `setlk`, `flock`: the kernel's own locks are right for a file system with one writing machine;
/// - `access`: the kernel handles it with "default_permissions";
/// - `write_buf`, `retrieve_reply`: other ways to move bytes, which `write` and the passthrough do here;
/// - `bmap`, `poll`: for block devices, and for files that are no documents;
/// - `ioctl`: not implemented (programs get ENOTTY, so that `lsattr` and `chattr` do not work at a mount).
func makeOperationsTable() -> fuse_lowlevel_ops {
    var table = fuse_lowlevel_ops()
    table.`init` = { _, connection in negotiate(&connection!.pointee) }
    addNameOperations(to: &table)
    addFileOperations(to: &table)
    addRangeOperations(to: &table)
    addExtendedAttributeOperations(to: &table)
    addDirectoryOperations(to: &table)
    return table
}

private func negotiate(_ connection: inout fuse_conn_info) {
    func want(_ capability: Int32) -> Bool {
        guard connection.capable & UInt32(capability) != 0 else { return false }
        connection.want |= UInt32(capability)
        return true
    }
    func refuse(_ capability: Int32) { connection.want &= ~UInt32(capability) }

    for capability in [
        FUSE_CAP_PARALLEL_DIROPS, FUSE_CAP_ATOMIC_O_TRUNC, FUSE_CAP_READDIRPLUS,
        FUSE_CAP_READDIRPLUS_AUTO, FUSE_CAP_ASYNC_DIO, FUSE_CAP_CACHE_SYMLINKS, FUSE_CAP_EXPORT_SUPPORT,
    ] {
        _ = want(capability)
    }
    // We invalidate changed pages ourselves; the kernel need not guess by size and date.
    if want(FUSE_CAP_EXPLICIT_INVAL_DATA) { refuse(FUSE_CAP_AUTO_INVAL_DATA) }
    // Excludes passthrough.
    refuse(FUSE_CAP_WRITEBACK_CACHE)
    // libfuse enables this by default. It would have us drop setuid without saying when; its successor does say, see
    // `FUSEInitOffer.requestKillPrivileges`.
    refuse(FUSE_CAP_HANDLE_KILLPRIV)
    // With it cached reads are background requests, which the kernel never interrupts; but a program that waits for a
    // slow store must be able to give up.
    refuse(FUSE_CAP_ASYNC_READ)
    for splice in [FUSE_CAP_SPLICE_READ, FUSE_CAP_SPLICE_WRITE, FUSE_CAP_SPLICE_MOVE] { refuse(splice) }

    // Read-ahead and RELEASE share this limit: with the kernel's 12, a few hung reads would block every release.
    connection.max_background = 1024
    connection.congestion_threshold = 768
    connection.max_write = 1 << 20
    // max_readahead: already set by libfuse to the kernel's offer, the upper limit.
}

// MARK: Names

private func addNameOperations(to table: inout fuse_lowlevel_ops) {
    table.lookup = { request, parent, name in
        dispatch(request) { $0.lookup($1, parent: parent, name: bytes(name)) }
    }
    table.forget = { request, node, count in
        if let fileSystem = connection(of: request).fileSystem { fileSystem.forget(node: node, count: count) }
        fuse_reply_none(request)
    }
    table.forget_multi = { request, count, list in
        if let fileSystem = connection(of: request).fileSystem {
            for entry in UnsafeBufferPointer(start: list, count: count) {
                fileSystem.forget(node: entry.ino, count: entry.nlookup)
            }
        }
        fuse_reply_none(request)
    }
    table.getattr = { request, node, info in
        dispatch(request) { $0.getattr($1, node: node, handle: info?.pointee.fh) }
    }
    table.setattr = { request, node, values, set, info in
        let attributes = FUSESetAttributes(
            values: values!.pointee, set: set, killPrivileges: FUSECurrentRequest.killsPrivileges)
        dispatch(request) { $0.setattr($1, node: node, to: attributes, handle: info?.pointee.fh) }
    }
    table.readlink = { request, node in
        dispatch(request) { $0.readlink($1, node: node) }
    }
    table.mkdir = { request, parent, name, mode in
        dispatch(request) { $0.mkdir($1, parent: parent, name: bytes(name), mode: mode) }
    }
    table.unlink = { request, parent, name in
        dispatch(request) { $0.unlink($1, parent: parent, name: bytes(name)) }
    }
    table.rmdir = { request, parent, name in
        dispatch(request) { $0.rmdir($1, parent: parent, name: bytes(name)) }
    }
    table.symlink = { request, target, parent, name in
        dispatch(request) { $0.symlink($1, target: bytes(target), parent: parent, name: bytes(name)) }
    }
    table.rename = { request, parent, name, newParent, newName, flags in
        dispatch(request) {
            $0.rename(
                $1, parent: parent, name: bytes(name), newParent: newParent, newName: bytes(newName), flags: flags)
        }
    }
    table.mknod = { request, parent, name, mode, rdev in
        dispatch(request) { $0.mknod($1, parent: parent, name: bytes(name), mode: mode, rdev: UInt64(rdev)) }
    }
    table.link = { request, node, newParent, newName in
        dispatch(request) { $0.link($1, node: node, newParent: newParent, newName: bytes(newName)) }
    }
    table.create = { request, parent, name, mode, info in
        let (flags, killPrivileges) = (info!.pointee.flags, FUSECurrentRequest.killsPrivileges)
        dispatch(request) {
            $0.create(
                $1, parent: parent, name: bytes(name), mode: mode, flags: flags, killPrivileges: killPrivileges)
        }
    }
    table.statfs = { request, node in
        dispatch(request) { $0.statfs($1, node: node) }
    }
}

// MARK: Files

private func addFileOperations(to table: inout fuse_lowlevel_ops) {
    table.open = { request, node, info in
        let (flags, killPrivileges) = (info!.pointee.flags, FUSECurrentRequest.killsPrivileges)
        dispatch(request) { $0.open($1, node: node, flags: flags, killPrivileges: killPrivileges) }
    }
    table.read = { request, node, size, offset, info in
        let handle = info!.pointee.fh
        dispatch(request) { $0.read($1, node: node, handle: handle, offset: Int64(offset), size: size) }
    }
    table.write = { request, node, data, size, offset, info in
        let (handle, killPrivileges) = (info!.pointee.fh, FUSECurrentRequest.killsPrivileges)
        let flags = info!.pointee.writepage != 0 ? 0 : info!.pointee.flags
        let bytes = UnsafeRawBufferPointer(start: data, count: size)
        dispatch(request) {
            $0.write(
                $1, node: node, handle: handle, bytes: bytes, offset: Int64(offset), flags: flags,
                killPrivileges: killPrivileges)
        }
    }
    table.flush = { request, node, info in
        let handle = info!.pointee.fh
        dispatch(request) { $0.flush($1, node: node, handle: handle) }
    }
    table.release = { request, node, info in
        let handle = info!.pointee.fh
        dispatch(request) { $0.release($1, node: node, handle: handle) }
    }
    table.fsync = { request, node, dataOnly, info in
        let handle = info!.pointee.fh
        dispatch(request) { $0.fsync($1, node: node, handle: handle, dataOnly: dataOnly != 0) }
    }
}

private func addRangeOperations(to table: inout fuse_lowlevel_ops) {
    table.fallocate = { request, node, mode, offset, length, info in
        let handle = info!.pointee.fh
        dispatch(request) {
            $0.fallocate(
                $1, node: node, handle: handle, mode: mode, offset: Int64(offset), length: Int64(length))
        }
    }
    table.lseek = { request, node, offset, whence, info in
        let handle = info!.pointee.fh
        dispatch(request) { $0.lseek($1, node: node, handle: handle, offset: Int64(offset), whence: whence) }
    }
    table.copy_file_range = { request, node, offset, info, toNode, toOffset, toInfo, length, flags in
        let (handle, toHandle) = (info!.pointee.fh, toInfo!.pointee.fh)
        dispatch(request) {
            $0.copyFileRange(
                $1, node: node, handle: handle, offset: Int64(offset), toNode: toNode, toHandle: toHandle,
                toOffset: Int64(toOffset), length: length, flags: flags)
        }
    }
}

// MARK: Extended attributes

private func addExtendedAttributeOperations(to table: inout fuse_lowlevel_ops) {
    table.setxattr = { request, node, name, value, size, flags in
        let value = UnsafeRawBufferPointer(start: value, count: size)
        dispatch(request) { $0.setxattr($1, node: node, name: bytes(name), value: value, flags: flags) }
    }
    table.getxattr = { request, node, name, size in
        dispatch(request) { $0.getxattr($1, node: node, name: bytes(name), size: size) }
    }
    table.listxattr = { request, node, size in
        dispatch(request) { $0.listxattr($1, node: node, size: size) }
    }
    table.removexattr = { request, node, name in
        dispatch(request) { $0.removexattr($1, node: node, name: bytes(name)) }
    }
}

// MARK: Directories

private func addDirectoryOperations(to table: inout fuse_lowlevel_ops) {
    table.opendir = { request, node, info in
        let flags = info!.pointee.flags
        dispatch(request) { $0.opendir($1, node: node, flags: flags) }
    }
    table.readdir = { request, node, size, offset, info in
        let handle = info!.pointee.fh
        dispatch(request) { $0.readdir($1, node: node, handle: handle, offset: Int64(offset), size: size) }
    }
    table.readdirplus = { request, node, size, offset, info in
        let handle = info!.pointee.fh
        dispatch(request) { $0.readdirplus($1, node: node, handle: handle, offset: Int64(offset), size: size) }
    }
    table.releasedir = { request, node, info in
        let handle = info!.pointee.fh
        dispatch(request) { $0.releasedir($1, node: node, handle: handle) }
    }
    table.fsyncdir = { request, node, dataOnly, info in
        let handle = info!.pointee.fh
        dispatch(request) { $0.fsyncdir($1, node: node, handle: handle, dataOnly: dataOnly != 0) }
    }
}
