import ContentStore
import FileProvider
import Glibc
import SyncEngine
import Synchronization
import Trees

/// fallocate, lseek and copy_file_range.
extension Volume {
    /// fallocate(2); see ``ContentFile/allocate(mode:_:)``.
    package func allocate(
        _ id: HandleID, mode: Int32, offset: Int64, length: Int64, killsPrivileges: Bool = false
    ) throws(VolumeError) {
        guard let handle = handles[id], handle.isWritable else { throw VolumeError(EBADF, "not open for writing") }
        guard offset >= 0, length > 0, offset <= Int64.max - length else { throw VolumeError(EINVAL, "no such range") }
        try Self.refuseTooLarge(offset, length)
        try changing(handle.node) { state in
            try write(handle.node, &state) { content, _ in
                (try content.allocate(mode: mode, offset..<offset + length), Int64?.none)
            }
            try killPrivileges(of: handle.node, &state, mayNotKeep: killsPrivileges)
        }
    }

    /// lseek(2) with SEEK_DATA or SEEK_HOLE; see ``ContentFile/seek(_:data:)``.
    package func seek(_ id: HandleID, offset: Int64, data: Bool) throws(VolumeError) -> Int64 {
        guard let handle = handles[id] else { throw VolumeError(EBADF, "not open") }
        do { return try content(of: handle.node).seek(offset, data: data) } catch { throw VolumeError(error) }
    }

    /// copy_file_range(2): a reflink if the disk below can do that. Ready with how many bytes were copied.
    package func copy(
        from source: HandleID, at offset: Int64, to target: HandleID, at targetOffset: Int64, count: Int,
        killsPrivileges: Bool = false
    ) throws(VolumeError) -> Outcome<Int> {
        guard let from = handles[source], let to = handles[target], to.isWritable else {
            throw VolumeError(EBADF, "not open")
        }
        guard offset >= 0, targetOffset >= 0, offset <= Int64.max - (1 << 30) else {
            throw VolumeError(EINVAL, "no such range")
        }
        // (As much as still fits, as a disk does it.)
        let room = Item.largestSize - min(targetOffset, Item.largestSize)
        let count = Int(min(Int64(max(0, count)), room, 1 << 30))
        if room == 0 { try Self.refuseTooLarge(targetOffset, 1) }
        return try answer {
            let bytes = try content(of: from.node)
            if let first = bytes.missing(in: offset..<offset + Int64(count)).first {
                let end = min(offset + Int64(count), bytes.baseSize)
                return .wait(try hydration(of: from.node, bytes, first.lowerBound..<end))
            }
            var done = 0
            try changing(to.node) { state in
                try write(to.node, &state) { content, size in
                    let copied = try content.copy(from: bytes, at: offset, to: targetOffset, count: count)
                    done = copied.count
                    return (copied.extended, max(size, targetOffset + Int64(done)))
                }
                try killPrivileges(of: to.node, &state, mayNotKeep: killsPrivileges)
            }
            if offset == 0, targetOffset == 0, done > 0 { engine.copied(from.node.inode, to: to.node.inode) }
            return .ready(done)
        }
    }
}
