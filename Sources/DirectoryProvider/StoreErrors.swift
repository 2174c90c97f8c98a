import FileProvider
import Glibc

/// The one table from errno to what a provider may say. ENOENT is not ``noSuchItem`` here: that a *name*
/// is absent says nothing about the *item* yet; only a search that saw everything may say it.
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
    /// A failed call on the file that is shown as `path`.
    init(_ error: SystemError, path: String) {
        let hint = error.number == EXDEV ? " (another file system is mounted there)" : ""
        self.init(
            providerCode(for: error.number), "\(path): \(String(cString: strerror(error.number)))\(hint)",
            cause: error)
    }

    /// The errno behind it, or 0.
    var errno: Int32 { (cause as? SystemError)?.number ?? 0 }

    /// A name led nowhere, or something else than a folder stands where a folder was: the place is gone.
    /// (ELOOP and ENOTDIR: a link or a file has taken its name; it is never followed.)
    var saysAbsent: Bool { [ENOENT, ENOTDIR, ELOOP].contains(errno) }

    /// The file system lacks a flag of renameat2(2).
    var saysFlagUnsupported: Bool { [EINVAL, ENOSYS, EOPNOTSUPP].contains(errno) }
}

/// Runs calls on the file shown as `path`, so that every failure names it.
func naming<Result>(
    _ path: @autoclosure () -> String, _ body: () throws(SystemError) -> Result
) throws(FileProviderError) -> Result {
    do throws(SystemError) { return try body() } catch { throw FileProviderError(error, path: path()) }
}
