internal import CFUSE
internal import Glibc

/// libfuse's table of C functions: each decodes its arguments and hands on. What is missing
/// is answered by libfuse with ENOSYS; locks are missing because the kernel's own are right
/// for a file system that only one machine writes through.
func makeOperationsTable() -> fuse_lowlevel_ops {
    var table = fuse_lowlevel_ops()
    table.`init` = { _, connection in negotiate(&connection!.pointee) }
    addNameOperations(to: &table)
    addFileOperations(to: &table)
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
        FUSE_CAP_READDIRPLUS_AUTO, FUSE_CAP_ASYNC_DIO, FUSE_CAP_CACHE_SYMLINKS,
    ] {
        _ = want(capability)
    }
    // We tell the kernel when bytes have changed; it need not guess by size and date.
    if want(FUSE_CAP_EXPLICIT_INVAL_DATA) { refuse(FUSE_CAP_AUTO_INVAL_DATA) }
    // Excludes passthrough.
    refuse(FUSE_CAP_WRITEBACK_CACHE)
    // libfuse takes this on unasked; we do not drop setuid bits by ourselves.
    refuse(FUSE_CAP_HANDLE_KILLPRIV)
    // With it cached reads go out as background requests, which the kernel never interrupts; a program that
    // waits for a slow store must be able to give up.
    refuse(FUSE_CAP_ASYNC_READ)
    for splice in [FUSE_CAP_SPLICE_READ, FUSE_CAP_SPLICE_WRITE, FUSE_CAP_SPLICE_MOVE] { refuse(splice) }

    // Read-ahead and RELEASE share this limit: with the kernel's 12, a few hung reads would
    // block every release.
    connection.max_background = 1024
    connection.congestion_threshold = 768
    connection.max_write = 1 << 20
    // max_readahead: libfuse has put in the kernel's offer, which is the upper limit.
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
        let attributes = FUSESetAttributes(values: values!.pointee, set: set)
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
    table.create = { request, parent, name, mode, info in
        let flags = info!.pointee.flags
        dispatch(request) { $0.create($1, parent: parent, name: bytes(name), mode: mode, flags: flags) }
    }
    table.statfs = { request, node in
        dispatch(request) { $0.statfs($1, node: node) }
    }
}

// MARK: Files

private func addFileOperations(to table: inout fuse_lowlevel_ops) {
    table.open = { request, node, info in
        let flags = info!.pointee.flags
        dispatch(request) { $0.open($1, node: node, flags: flags) }
    }
    table.read = { request, node, size, offset, info in
        let handle = info!.pointee.fh
        dispatch(request) { $0.read($1, node: node, handle: handle, offset: Int64(offset), size: size) }
    }
    table.write = { request, node, data, size, offset, info in
        let handle = info!.pointee.fh
        let bytes = UnsafeRawBufferPointer(start: data, count: size)
        dispatch(request) { $0.write($1, node: node, handle: handle, bytes: bytes, offset: Int64(offset)) }
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

// MARK: Decoding

private func connection(of request: fuse_req_t?) -> FUSEConnection {
    FUSEConnection.of(fuse_req_userdata(request))
}

private func dispatch(_ raw: fuse_req_t?, _ call: (any FUSEFileSystem, consuming FUSERequest) -> Void) {
    let connection = connection(of: raw)
    let request = FUSERequest(raw!, connection)
    // Without a file system there is no one to ask: dropped, it answers EIO.
    if let fileSystem = connection.fileSystem { call(fileSystem, request) }
}

/// A name as libfuse hands it out, without its NUL.
private func bytes(_ name: UnsafePointer<CChar>?) -> [UInt8] {
    guard let name else { return [] }
    return [UInt8](UnsafeRawBufferPointer(start: name, count: strlen(name)))
}

extension FUSESetAttributes {
    fileprivate init(values: stat, set: Int32) {
        func has(_ flag: Int32) -> Bool { set & flag != 0 }
        func time(_ flag: Int32, _ now: Int32, _ value: timespec) -> Time? {
            if has(now) { return .now }
            return has(flag) ? .at(value) : nil
        }
        self.init(
            mode: has(FUSE_SET_ATTR_MODE) ? values.st_mode : nil,
            uid: has(FUSE_SET_ATTR_UID) ? values.st_uid : nil,
            gid: has(FUSE_SET_ATTR_GID) ? values.st_gid : nil,
            size: has(FUSE_SET_ATTR_SIZE) ? Int64(values.st_size) : nil,
            atime: time(FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, values.st_atim),
            mtime: time(FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, values.st_mtim),
            ctime: has(FUSE_SET_ATTR_CTIME) ? values.st_ctim : nil,
            killPrivileges: has(FUSE_SET_ATTR_KILL_SUID) || has(FUSE_SET_ATTR_KILL_SGID))
    }
}
