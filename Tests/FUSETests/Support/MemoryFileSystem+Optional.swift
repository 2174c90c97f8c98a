import FUSE
import Glibc
import Synchronization

/// What a file system may leave out; see `Bare` for one that does.
extension MemoryFileSystem {
    // MARK: Names

    func mknod(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32, rdev: UInt64) {
        count("mknod")
        add(request, parent, name, Node(mode: mode, rdev: rdev))
    }

    func link(_ request: consuming FUSERequest, node: UInt64, newParent: UInt64, newName: [UInt8]) {
        count("link")
        guard find(newParent, newName) == nil else { return _ = request.reply(errno: EEXIST) }
        state.withLock { state in
            state.nodes[newParent]!.names.append((newName, node))
            state.nodes[node]!.links += 1
            state.lookups[node, default: 0] += 1
        }
        request.reply(entry: entry(node)!)
    }

    // MARK: Ranges

    /// Mode 0 and FALLOC_FL_KEEP_SIZE (1), of which memory needs none; the others are not for it.
    func fallocate(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, mode: Int32, offset: Int64, length: Int64
    ) {
        count("fallocate")
        guard handle == node + 1000 else { return _ = request.reply(errno: EBADF) }
        guard mode & ~1 == 0 else { return _ = request.reply(errno: EOPNOTSUPP) }
        if mode == 0 {
            state.withLock { state in
                let size = state.nodes[node]!.bytes.count
                state.nodes[node]!.resize(max(size, Int(offset + length)))
            }
        }
        request.reply(errno: 0)
    }

    /// Zero bytes are holes.
    func lseek(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, whence: Int32) {
        count(whence == 3 ? "seek data" : whence == 4 ? "seek hole" : "seek \(whence)")
        guard handle == node + 1000 else { return _ = request.reply(errno: EBADF) }
        let bytes = state.withLock { $0.nodes[node]!.bytes }
        let rest = bytes.dropFirst(Int(offset))
        let found = whence == 3 ? rest.firstIndex { $0 != 0 } : rest.firstIndex(of: 0) ?? bytes.count
        guard !rest.isEmpty, let found else { return _ = request.reply(errno: ENXIO) }
        request.reply(offset: Int64(found))
    }

    func copyFileRange(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, toNode: UInt64,
        toHandle: UInt64, toOffset: Int64, length: Int, flags: Int32
    ) {
        count("copy")
        guard handle == node + 1000, toHandle == toNode + 1000 else { return _ = request.reply(errno: EBADF) }
        guard flags == 0 else { return _ = request.reply(errno: EINVAL) }
        let copied = state.withLock { state in
            let bytes = Array(state.nodes[node]!.bytes.dropFirst(Int(offset)).prefix(length))
            state.nodes[toNode]!.overwrite(Int(toOffset), with: bytes)
            return bytes.count
        }
        request.reply(written: copied)
    }

    // MARK: Extended attributes

    func setxattr(
        _ request: consuming FUSERequest, node: UInt64, name: [UInt8], value: UnsafeRawBufferPointer, flags: Int32
    ) {
        count("setxattr")
        let errno = state.withLock { state -> Int32 in
            let exists = state.nodes[node]!.extendedAttributes[name] != nil
            if flags & 1 != 0, exists { return EEXIST }
            if flags & 2 != 0, !exists { return ENODATA }
            state.nodes[node]!.extendedAttributes[name] = Array(value)
            return 0
        }
        request.reply(errno: errno)
    }

    func getxattr(_ request: consuming FUSERequest, node: UInt64, name: [UInt8], size: Int) {
        count("getxattr \(String(decoding: name, as: UTF8.self))")
        guard let value = state.withLock({ $0.nodes[node]!.extendedAttributes[name] }) else {
            return _ = request.reply(errno: ENODATA)
        }
        request.reply(xattr: value, size: size)
    }

    func listxattr(_ request: consuming FUSERequest, node: UInt64, size: Int) {
        count("listxattr")
        let names = state.withLock {
            $0.nodes[node]!.extendedAttributes.keys.sorted { $0.lexicographicallyPrecedes($1) }
        }
        request.reply(xattr: Array(names.map { $0 + [0] }.joined()), size: size)
    }

    func removexattr(_ request: consuming FUSERequest, node: UInt64, name: [UInt8]) {
        count("removexattr")
        let old = state.withLock { $0.nodes[node]!.extendedAttributes.removeValue(forKey: name) }
        request.reply(errno: old == nil ? ENODATA : 0)
    }
}
