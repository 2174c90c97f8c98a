import ContentStore
package import FileProvider
import Glibc
import ItemCatalog
import Trees

/// What a failure means: to the program, an errno (errno(3)); to the user, what happens next.
///
/// The one table for providers' errors, with a row for every code; documented in *What you can rely on*.
package enum FailureTable {
    package struct Row: Sendable {
        /// The errno for a program that waits.
        package var errno: Int32
        /// The advice to the user after a failed read.
        package var reading: String
        /// What makes a kept change succeed when it is tried again; nil: time alone.
        package var sending: String?
    }

    package static let rows: [FileProviderError.Code: Row] = [
        .noSuchItem: Row(errno: ENOENT, reading: "it is gone from the store; list the folder again"),
        .filenameCollision: Row(errno: EEXIST, reading: "choose another name", sending: "give it another name"),
        .versionMismatch: Row(errno: ESTALE, reading: "open it again"),
        .serverUnreachable: Row(errno: EHOSTUNREACH, reading: "read it again when the store answers"),
        .notAuthenticated: Row(
            errno: EACCES, reading: "sign in again, then read it again", sending: "sign in again"),
        .permissionDenied: Row(
            errno: EACCES, reading: "ask for permission at the store", sending: "ask for permission at the store"),
        .insufficientQuota: Row(errno: EDQUOT, reading: "make room in the store", sending: "make room in the store"),
        .cannotSynchronize: Row(errno: EIO, reading: "read it again in a while"),
        .directoryNotEmpty: Row(
            errno: ENOTEMPTY, reading: "empty the folder first", sending: "empty the folder in the store first"),
        .busy: Row(errno: EBUSY, reading: "read it again when the lock on it is released"),
        .cancelled: Row(errno: EINTR, reading: "read it again"),
        .invalidName: Row(errno: EINVAL, reading: "give it another name", sending: "give it another name"),
        .unsupported: Row(
            errno: ENOTSUP, reading: "the store cannot do this",
            sending: "the store cannot do this; the change stays on this machine"),
        .readOnly: Row(
            errno: EROFS, reading: "the store takes no changes",
            sending: "the store takes no changes; copy it to another place"),
        .syncAnchorExpired: Row(errno: EIO, reading: "read it again; all folders are listed again"),
    ]

    /// A code of the SDK without a row is our bug, which a test finds; at run time the code counts as an input/output
    /// error.
    package static func row(_ code: FileProviderError.Code) -> Row {
        rows[code] ?? Row(errno: EIO, reading: "read it again in a while")
    }

    // MARK: As text

    /// What happens next, for a program or user that waited for bytes.
    static func next(reading error: SyncError) -> String {
        switch error {
        case .provider(let error): row(error.code).reading
        case .content(let error): error.code == .diskFull ? "make room on this disk" : "read it again"
        case .catalog: "read it again; if it fails again, run hydrant doctor"
        case .timedOut: "read it again"
        case .untrusted: "read it again; if it fails again, report it to the provider's author"
        case .superseded: "open it again"
        case .cancelled: "read it again"
        }
    }

    /// What happens next with a change that could not be sent.
    ///
    /// - Parameter code: as ``FileProviderError/Code`` describes itself; any other code means a failure on this
    ///   machine.
    package static func next(sending code: String?, inSeconds seconds: Double) -> String {
        let again = "Hydrant tries again in \(duration(seconds))"
        return hint(sending: code).map { "\($0); \(again)" } ?? again
    }

    /// What makes a change succeed; nil: time alone.
    package static func hint(sending code: String?) -> String? {
        rows.first { $0.key.description == code }?.value.sending
    }

    /// Why bytes did not come, and what happens next; for errors of neither the provider nor the disk, only why.
    package static func text(_ error: SyncError) -> String {
        if case .cancelled = error { return error.description }
        // A refusal of ours: nothing happens next.
        if case .provider(let error) = error, error.code == .busy { return error.message }
        return line("", error.description, next(reading: error))
    }

    static func code(of error: SyncError) -> String {
        switch error {
        case .provider(let error): error.code.description
        case .content(let error): error.code == .diskFull ? "diskFull" : "local"
        case .catalog(let error): error.code == .diskFull ? "diskFull" : "local"
        case .timedOut: "timedOut"
        case .untrusted: "untrusted"
        case .superseded: FileProviderError.Code.versionMismatch.description
        case .cancelled: FileProviderError.Code.cancelled.description
        }
    }

    /// The file, the cause, and what happens next. A cause often names the file itself.
    package static func line(_ path: String, _ cause: String, _ next: String) -> String {
        let place = path.isEmpty || cause.hasPrefix(path) ? "" : "\(path): "
        // Some causes already give the advice in the same words.
        return cause.hasSuffix(next) ? place + cause : "\(place)\(cause); \(next)"
    }

    private static func duration(_ seconds: Double) -> String {
        let whole = Int(max(0, seconds).rounded(.up))
        return whole < 120 ? "\(whole) s" : "\(whole / 60) min"
    }
}
