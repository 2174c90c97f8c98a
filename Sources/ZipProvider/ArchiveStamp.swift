import FileProvider
import Glibc

/// The identity and state of the archive file: changes when the file is replaced or written to.
struct ArchiveStamp: Hashable, Sendable {
    let inode: UInt64
    let size: Int64
    let modified: FileTime

    init(_ status: stat) {
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = FileTime(seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec))
    }

    /// For the file at `path` now.
    init(path: String) throws(FileProviderError) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Self.error(path, errno) }
        self.init(status)
    }

    /// For the versions of items. The device is left out, as its number may change with a restart.
    var text: String { "\(inode)-\(size)-\(modified.nanoseconds)" }

    /// No error says that a document is gone: without the archive, nobody knows.
    static func error(_ path: String, _ number: Int32) -> FileProviderError {
        switch number {
        case ENOENT, ENOTDIR:
            FileProviderError(
                .serverUnreachable, "\(path): there is no such archive; put it back, or name another archive")
        case EACCES, EPERM:
            FileProviderError(.permissionDenied, "\(path): you may not read this archive; see chmod(1)")
        default:
            FileProviderError(.serverUnreachable, "\(path): cannot be opened: \(String(cString: strerror(number)))")
        }
    }
}
