internal import Glibc

/// Defaults for optional operations: ENOSYS, which the kernel remembers for the life of the mount and replaces as it
/// can: extended attributes and fallocate (programs see EOPNOTSUPP), lseek (a file is all data, its end the only hole),
/// copy_file_range (the kernel reads and writes) and, since Linux 6.16, link (EPERM). The kernel asks for mknod each
/// time, and programs see ENOSYS.
///
/// There is no `access`: with the mount option "default_permissions" the kernel answers by the mode.
extension FUSEFileSystem {
    public func mknod(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32, rdev: UInt64
    ) {
        request.reply(errno: ENOSYS)
    }

    public func link(_ request: consuming FUSERequest, node: UInt64, newParent: UInt64, newName: [UInt8]) {
        request.reply(errno: ENOSYS)
    }

    public func fallocate(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, mode: Int32, offset: Int64, length: Int64
    ) {
        request.reply(errno: ENOSYS)
    }

    public func lseek(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, whence: Int32
    ) {
        request.reply(errno: ENOSYS)
    }

    public func copyFileRange(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, toNode: UInt64,
        toHandle: UInt64, toOffset: Int64, length: Int, flags: Int32
    ) {
        request.reply(errno: ENOSYS)
    }

    public func setxattr(
        _ request: consuming FUSERequest, node: UInt64, name: [UInt8], value: UnsafeRawBufferPointer, flags: Int32
    ) {
        request.reply(errno: ENOSYS)
    }

    public func getxattr(_ request: consuming FUSERequest, node: UInt64, name: [UInt8], size: Int) {
        request.reply(errno: ENOSYS)
    }

    public func listxattr(_ request: consuming FUSERequest, node: UInt64, size: Int) {
        request.reply(errno: ENOSYS)
    }

    public func removexattr(_ request: consuming FUSERequest, node: UInt64, name: [UInt8]) {
        request.reply(errno: ENOSYS)
    }
}
