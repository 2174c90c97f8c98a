internal import CFUSE
internal import Glibc

/// One reply to readdir or readdirplus, up to the size that the kernel asked for.
///
/// `@unchecked Sendable`: it owns its memory and has one owner.
public struct FUSEDirectoryBuffer: ~Copyable, @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer
    private let plus: Bool
    private var used = 0

    init(size: Int, plus: Bool) {
        memory = .allocate(byteCount: max(size, 0), alignment: 8)
        self.plus = plus
    }

    deinit { memory.deallocate() }

    public var isEmpty: Bool { used == 0 }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<used]) }

    /// Adds an entry with its attributes; if the kernel takes the reply, it counts as a lookup. A plain listing has
    /// only its inode and type. False when the entry does not fit: nothing was added.
    public mutating func add(name: [UInt8], entry: FUSEEntry, nextOffset: Int64) -> Bool {
        guard plus else {
            return add(
                name: name, inode: UInt64(entry.attributes.st_ino), type: entry.attributes.st_mode & S_IFMT,
                nextOffset: nextOffset)
        }
        return add(entry.parameters, name: name, nextOffset: nextOffset)
    }

    /// Adds an entry with inode and type (`S_IFDIR`, …) only, like "." and "..". It does not count as a lookup, in
    /// readdirplus neither (where it has node 0).
    public mutating func add(name: [UInt8], inode: UInt64, type: UInt32, nextOffset: Int64) -> Bool {
        var parameters = fuse_entry_param()
        parameters.attr.st_ino = ino_t(inode)
        parameters.attr.st_mode = type
        return add(parameters, name: name, nextOffset: nextOffset)
    }

    private mutating func add(_ parameters: fuse_entry_param, name: [UInt8], nextOffset: Int64) -> Bool {
        // libfuse measures the name with strlen: an empty name or a NUL would break the listing.
        guard !name.isEmpty, !name.contains(0) else { return true }
        var parameters = parameters
        let left = memory.count - used
        let size = withUnsafeTemporaryAllocation(of: CChar.self, capacity: name.count + 1) { scratch in
            for index in name.indices { scratch[index] = CChar(bitPattern: name[index]) }
            scratch[name.count] = 0
            let target = memory.baseAddress.map { ($0 + used).assumingMemoryBound(to: CChar.self) }
            return plus
                ? fuse_add_direntry_plus(nil, target, left, scratch.baseAddress!, &parameters, off_t(nextOffset))
                : fuse_add_direntry(nil, target, left, scratch.baseAddress!, &parameters.attr, off_t(nextOffset))
        }
        guard size <= left else { return false }
        used += size
        return true
    }
}
