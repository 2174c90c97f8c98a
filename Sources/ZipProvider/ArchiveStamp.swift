import FileProvider
import Glibc

/// Which file the archive is, and in which state: another one when it was replaced or written to.
struct ArchiveStamp: Hashable, Sendable {
    let inode: UInt64
    let size: Int64
    let modified: FileTime

    init(_ status: stat) {
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = FileTime(seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec))
    }

    /// Of whatever is at `path` now.
    init(path: String) throws(FileProviderError) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Self.error(path, errno) }
        self.init(status)
    }

    /// For the versions of what is in the archive. The device is left out: it may have another number after a restart.
    var text: String { "\(inode)-\(size)-\(modified.nanoseconds)" }

    /// Nothing here says that a document is gone: with the archive away, nobody can answer for it.
    static func error(_ path: String, _ number: Int32) -> FileProviderError {
        switch number {
        case ENOENT, ENOTDIR:
            FileProviderError(.serverUnreachable, "\(path): there is no such archive; put it back, or name another one")
        case EACCES, EPERM:
            FileProviderError(.permissionDenied, "\(path): you may not read this archive; see chmod(1)")
        default:
            FileProviderError(.serverUnreachable, "\(path): cannot be opened: \(String(cString: strerror(number)))")
        }
    }
}
