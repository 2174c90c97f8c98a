import FUSE

/// A memory file system that leaves out what may be left out.
final class Bare: FUSEFileSystem {
    let memory = MemoryFileSystem()

    func lookup(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        memory.lookup(request, parent: parent, name: name)
    }

    func forget(node: UInt64, count: UInt64) {
        memory.forget(node: node, count: count)
    }

    func getattr(_ request: consuming FUSERequest, node: UInt64, handle: UInt64?) {
        memory.getattr(request, node: node, handle: handle)
    }

    func setattr(_ request: consuming FUSERequest, node: UInt64, to attributes: FUSESetAttributes, handle: UInt64?) {
        memory.setattr(request, node: node, to: attributes, handle: handle)
    }

    func readlink(_ request: consuming FUSERequest, node: UInt64) {
        memory.readlink(request, node: node)
    }

    func mkdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32) {
        memory.mkdir(request, parent: parent, name: name, mode: mode)
    }

    func unlink(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        memory.unlink(request, parent: parent, name: name)
    }

    func rmdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        memory.rmdir(request, parent: parent, name: name)
    }

    func symlink(_ request: consuming FUSERequest, target: [UInt8], parent: UInt64, name: [UInt8]) {
        memory.symlink(request, target: target, parent: parent, name: name)
    }

    func rename(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], newParent: UInt64, newName: [UInt8],
        flags: UInt32
    ) {
        memory.rename(request, parent: parent, name: name, newParent: newParent, newName: newName, flags: flags)
    }

    func create(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32, flags: Int32,
        killPrivileges: Bool
    ) {
        memory.create(request, parent: parent, name: name, mode: mode, flags: flags, killPrivileges: killPrivileges)
    }

    func open(_ request: consuming FUSERequest, node: UInt64, flags: Int32, killPrivileges: Bool) {
        memory.open(request, node: node, flags: flags, killPrivileges: killPrivileges)
    }

    func read(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int) {
        memory.read(request, node: node, handle: handle, offset: offset, size: size)
    }

    func write(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, bytes: UnsafeRawBufferPointer, offset: Int64,
        flags: Int32, killPrivileges: Bool
    ) {
        memory.write(
            request, node: node, handle: handle, bytes: bytes, offset: offset, flags: flags,
            killPrivileges: killPrivileges)
    }

    func flush(_ request: consuming FUSERequest, node: UInt64, handle: UInt64) {
        memory.flush(request, node: node, handle: handle)
    }

    func release(_ request: consuming FUSERequest, node: UInt64, handle: UInt64) {
        memory.release(request, node: node, handle: handle)
    }

    func fsync(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, dataOnly: Bool) {
        memory.fsync(request, node: node, handle: handle, dataOnly: dataOnly)
    }

    func opendir(_ request: consuming FUSERequest, node: UInt64, flags: Int32) {
        memory.opendir(request, node: node, flags: flags)
    }

    func readdir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int) {
        memory.readdir(request, node: node, handle: handle, offset: offset, size: size)
    }

    func readdirplus(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int) {
        memory.readdirplus(request, node: node, handle: handle, offset: offset, size: size)
    }

    func releasedir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64) {
        memory.releasedir(request, node: node, handle: handle)
    }

    func fsyncdir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, dataOnly: Bool) {
        memory.fsyncdir(request, node: node, handle: handle, dataOnly: dataOnly)
    }

    func statfs(_ request: consuming FUSERequest, node: UInt64) {
        memory.statfs(request, node: node)
    }
}
