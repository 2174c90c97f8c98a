import CLinux
import Glibc

/// How many files the process may have open (RLIMIT_NOFILE), and what of that is kept for its own work: the catalog, the
/// control socket, connections to the store, what is being sent. Programs that hold open as many documents as there may be
/// get EMFILE for the next one, and nothing else suffers from it.
///
/// Who gets which is told by the descriptor's number: the kernel gives out the lowest that is free, so one that is among
/// the last means that nearly all are in use.
package enum OpenFileLimit {
    /// As many as the system allows: the usual limit is for programs that keep numbers of descriptors in `select(2)`.
    package static func raise() { _ = clinux_raise_file_limit() }

    /// How many of so many are reserved.
    static func reserve(of limit: Int64) -> Int64 { min(256, limit / 4) }

    /// Whether it is one of the last.
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
