/// A mounted file system. libfuse's threads call its methods; each request is answered there, or later from any thread
/// (see `FUSEPendingRequest`). No method may wait for a network: there are only `FUSESession.Options.maxThreads`
/// threads.
public protocol FUSEFileSystem: AnyObject, Sendable {
    func lookup(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8])
    /// The kernel gives back `count` lookups of a node. It expects no reply.
    func forget(node: UInt64, count: UInt64)
    func getattr(_ request: consuming FUSERequest, node: UInt64, handle: UInt64?)
    func setattr(
        _ request: consuming FUSERequest, node: UInt64, to attributes: FUSESetAttributes, handle: UInt64?)
    func readlink(_ request: consuming FUSERequest, node: UInt64)

    func mkdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32)
    func unlink(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8])
    func rmdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8])
    func symlink(_ request: consuming FUSERequest, target: [UInt8], parent: UInt64, name: [UInt8])
    func rename(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], newParent: UInt64, newName: [UInt8],
        flags: UInt32)

    /// A fifo, socket, device or, for a caller that opens no file with it (NFS), a file. The type is in `mode`; a
    /// device's number is in `rdev`, encoded like `st_rdev`.
    func mknod(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32, rdev: UInt64)
    /// Another name for `node`; the reply is its entry, which counts as one more lookup.
    func link(_ request: consuming FUSERequest, node: UInt64, newParent: UInt64, newName: [UInt8])

    // `killPrivileges`: the caller lacks CAP_FSETID, so a change of the bytes (here O_TRUNC) must drop setuid, and
    // setgid if the group may execute. See `FUSESession.Options.killPrivileges`.

    func create(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32, flags: Int32,
        killPrivileges: Bool)
    func open(_ request: consuming FUSERequest, node: UInt64, flags: Int32, killPrivileges: Bool)
    func read(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int)
    /// `bytes` are invalid after the call. `flags`: the file's present ones (fcntl(2), F_SETFL); 0 where the kernel
    /// writes back a program's changes through a mapping.
    func write(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, bytes: UnsafeRawBufferPointer,
        offset: Int64, flags: Int32, killPrivileges: Bool)
    func flush(_ request: consuming FUSERequest, node: UInt64, handle: UInt64)
    func release(_ request: consuming FUSERequest, node: UInt64, handle: UInt64)
    func fsync(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, dataOnly: Bool)
    /// fallocate(2); the kernel has checked offset and length.
    func fallocate(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, mode: Int32, offset: Int64, length: Int64)
    /// Only SEEK_DATA and SEEK_HOLE; ENXIO when there is nothing more. The kernel handles the others.
    func lseek(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, whence: Int32)
    /// copy_file_range(2), within this mount. Reply with `reply(written:)`; fewer bytes than requested are allowed.
    func copyFileRange(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, toNode: UInt64,
        toHandle: UInt64, toOffset: Int64, length: Int, flags: Int32)

    /// `value` is invalid after the call. `flags`: XATTR_CREATE (1), XATTR_REPLACE (2) or 0, as in setxattr(2).
    func setxattr(
        _ request: consuming FUSERequest, node: UInt64, name: [UInt8], value: UnsafeRawBufferPointer, flags: Int32)
    /// Reply with `reply(xattr:size:)`; ENODATA when there is no such attribute.
    func getxattr(_ request: consuming FUSERequest, node: UInt64, name: [UInt8], size: Int)
    /// Reply with `reply(xattr:size:)`: the names, a NUL after each.
    func listxattr(_ request: consuming FUSERequest, node: UInt64, size: Int)
    func removexattr(_ request: consuming FUSERequest, node: UInt64, name: [UInt8])

    func opendir(_ request: consuming FUSERequest, node: UInt64, flags: Int32)
    func readdir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int)
    func readdirplus(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int)
    func releasedir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64)
    func fsyncdir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, dataOnly: Bool)

    func statfs(_ request: consuming FUSERequest, node: UInt64)
}
