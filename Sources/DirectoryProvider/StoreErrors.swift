import FileProvider
import Glibc

/// The only mapping from errno to provider errors. ENOENT is not ``noSuchItem`` here: the *item* may have another
/// *name*; only a search of the whole store can tell that it is gone.
private func providerCode(for number: Int32) -> FileProviderError.Code {
    switch number {
    case EACCES, EPERM: .permissionDenied
    case EROFS: .readOnly
    case ENOSPC, EDQUOT, EMLINK: .insufficientQuota
    case ENAMETOOLONG, EILSEQ: .invalidName
    case EEXIST: .filenameCollision
    case ENOTEMPTY: .directoryNotEmpty
    case EBUSY, ETXTBSY, EAGAIN: .busy
    case EXDEV, EFBIG, EOPNOTSUPP, ENOSYS: .unsupported
    case ENODEV, ENXIO, ENOTCONN, ESTALE, ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, ECONNREFUSED,
        ESHUTDOWN:
        .serverUnreachable
    default: .cannotSynchronize
    }
}

extension FileProviderError {
    /// A failed call on a file; the message has `path`.
    init(_ error: SystemError, path: String) {
        let hint = error.number == EXDEV ? " (another file system is mounted there)" : ""
        self.init(
            providerCode(for: error.number), "\(path): \(String(cString: strerror(error.number)))\(hint)",
            cause: error)
    }

    /// The errno of the cause, or 0.
    var errno: Int32 { (cause as? SystemError)?.number ?? 0 }

    /// Whether the place is gone: the name does not exist, or a parent is not a folder. (ELOOP and ENOTDIR: a link or a
    /// file has the folder's name; it is never followed.)
    var saysAbsent: Bool { [ENOENT, ENOTDIR, ELOOP].contains(errno) }

    /// Whether the file system lacks a flag of renameat2(2).
    var saysFlagUnsupported: Bool { [EINVAL, ENOSYS, EOPNOTSUPP].contains(errno) }
}

/// Runs calls on a file, so that the message of every failure has its `path`.
func naming<Result>(
    _ path: @autoclosure () -> String, _ body: () throws(SystemError) -> Result
) throws(FileProviderError) -> Result {
    do throws(SystemError) { return try body() } catch { throw FileProviderError(error, path: path()) }
}
