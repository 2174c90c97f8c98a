import ContentStore
import FileProvider
import Glibc
import ItemCatalog
import Logging
import SyncEngine
import Trees

/// Why a file system call fails: the errno that a program sees, and a message for a person.
package struct VolumeError: Error, Sendable, Equatable, CustomStringConvertible {
    package var errno: Int32
    package var message: String

    package init(_ errno: Int32, _ message: String) {
        self.errno = errno
        self.message = message
    }

    package var description: String { "\(message) (\(String(cString: strerror(errno))))" }

    /// The folder whose listing must be fetched before the call can be answered.
    static func needsListing(_ error: any Error) -> InodeID? {
        if let error = error as? CatalogError, case .notEnumerated(let folder) = error.code { return folder }
        return nil
    }
}

/// The one table from the errors of lower layers to errno; those of providers are in ``FailureTable``.
extension VolumeError {
    package init(_ error: any Error) {
        switch error {
        case let error as VolumeError: self = error
        case let error as SyncError: self.init(error)
        case let error as CatalogError: self.init(Self.errno(error.code), error.message)
        case let error as ContentError: self.init(Self.errno(error.code), error.message)
        case let error as FileProviderError: self.init(FailureTable.row(error.code).errno, error.message)
        default: self.init(EIO, "\(error)")
        }
    }

    private init(_ error: SyncError) {
        switch error {
        case .provider(let error): self.init(error as any Error)
        case .content(let error): self.init(error as any Error)
        case .catalog(let error): self.init(error as any Error)
        case .timedOut: self.init(ETIMEDOUT, error.description)
        case .untrusted: self.init(EIO, error.description)
        case .superseded: self.init(ESTALE, error.description)
        case .cancelled: self.init(EINTR, error.description)
        }
    }

    private static func errno(_ code: CatalogError.Code) -> Int32 {
        switch code {
        case .notFound: ENOENT
        case .exists: EEXIST
        case .notFolder: ENOTDIR
        case .isFolder: EISDIR
        case .notEmpty: ENOTEMPTY
        case .intoItself: EINVAL
        case .crossType: EINVAL
        case .unsupported: ENOTSUP
        case .notPermitted: EPERM
        case .notAllowed: EACCES
        case .otherVolume: EXDEV
        case .beingWritten: EBUSY
        case .noAttribute: ENODATA
        case .replaced: ESTALE
        case .diskFull: ENOSPC
        case .notEnumerated, .incomplete, .damaged, .newerVersion, .wrongDomain, .system: EIO
        }
    }

    private static func errno(_ code: ContentError.Code) -> Int32 {
        switch code {
        case .diskFull: ENOSPC
        case .changed: EBUSY
        case .missing, .vanished: EIO
        case .system(let number): number
        }
    }
}

extension Volume {
    /// Logs the reason when a program gets "Input/output error".
    package func logIfIOError(_ error: VolumeError) {
        guard error.errno == EIO else { return }
        mount.logger.warning("a program gets an I/O error", metadata: ["error": "\(error.message)"])
    }

    /// A program has waited for so long, and gets a time-out.
    package func logTimeout(after time: Duration) {
        mount.logger.warning(
            "a program's request has timed out (ETIMEDOUT); the answer may still come, try again later",
            metadata: ["seconds": "\(time.components.seconds)"])
    }
}
