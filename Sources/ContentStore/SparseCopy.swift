import CLinux
import Glibc

/// Copies a file into an empty one: as a reflink where the file system can, else with its holes.
package enum SparseCopy {
    /// Copies the first `size` bytes; fewer when the source is shorter by now. Syncs nothing.
    ///
    /// - Parameter path: the target's, for errors.
    package static func run(from source: Int32, to target: Int32, size: Int64, path: String) throws(ContentError) {
        if clone(source, to: target) { return }
        guard ftruncate(target, off_t(size)) == 0 else { throw .last(path) }
        var place: Int64 = 0
        while place < size {
            let data = lseek(source, off_t(place), CLINUX_SEEK_DATA)
            // Only a hole is left. A file system without support for holes reports none.
            if data < 0 && errno == ENXIO { return }
            let start = data < 0 ? place : Int64(data)
            let hole = lseek(source, off_t(start), CLINUX_SEEK_HOLE)
            let end = hole < 0 ? size : min(size, Int64(hole))
            guard try copy(start..<end, from: source, to: target, path) else { return }
            place = end
        }
    }

    /// Whether the file system shared the bytes.
    static func clone(_ source: Int32, to target: Int32) -> Bool {
        let ficlone: UInt = 0x4004_9409  // linux/fs.h
        return ioctl(target, ficlone, source) == 0
    }

    /// False: the source ends before.
    private static func copy(_ range: Range<Int64>, from source: Int32, to target: Int32, _ path: String)
        throws(ContentError) -> Bool
    {
        var place = range.lowerBound
        while place < range.upperBound {
            let left = Int(range.upperBound - place)
            var count = clinux_copy_range(source, place, target, place, left)
            // Not across kinds of file systems (copy_file_range(2)).
            if count < 0, [EXDEV, EINVAL, EOPNOTSUPP, ENOSYS].contains(errno) {
                count = copyThroughMemory(source, target, place, min(left, 1 << 20))
            }
            if count < 0 && errno == EINTR { continue }
            if count < 0 { throw .last(path) }
            if count == 0 { return false }
            place += Int64(count)
        }
        return true
    }

    private static func copyThroughMemory(_ source: Int32, _ target: Int32, _ place: Int64, _ count: Int) -> Int {
        withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { buffer in
            let read = pread(source, buffer.baseAddress, count, off_t(place))
            return read > 0 ? pwrite(target, buffer.baseAddress, read, off_t(place)) : read
        }
    }
}
