import CLinux
import Glibc

/// The limit of open files (RLIMIT_NOFILE), and the part reserved for the daemon's own work: the catalog, the control
/// socket, connections to the store, uploads. A program that opens more documents than the rest allows gets EMFILE, and
/// nothing else fails.
///
///
/// The descriptor's number tells: the kernel hands out the lowest free one, so a number near the limit means that
/// nearly all are in use.
package enum OpenFileLimit {
    /// To the system's hard limit: the usual limit is for programs that pass descriptors to `select(2)`.
    package static func raise() { _ = clinux_raise_file_limit() }

    /// The number of reserved descriptors for a limit.
    static func reserve(of limit: Int64) -> Int64 { min(256, limit / 4) }

    /// Whether it is one of the reserved ones.
    static func isReserved(_ descriptor: Int32, of limit: Int64 = clinux_file_limit()) -> Bool {
        limit > 0 && Int64(descriptor) >= limit - reserve(of: limit)
    }

    static func reached(_ path: String) -> ContentError {
        let limit = clinux_file_limit()
        return ContentError(
            code: .system(EMFILE),
            message: "\(path): programs have \(limit - reserve(of: limit)) documents open, and the daemon may not open "
                + "more; close some, or raise the limit (ulimit -Hn) and mount again")
    }
}
