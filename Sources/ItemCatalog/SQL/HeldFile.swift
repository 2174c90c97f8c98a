import Foundation
import Locking

/// A file descriptor that is open for the lifetime of this object.
final class HeldFile: Sendable {
    let descriptor: Int32
    init(_ path: String) { descriptor = open(path, O_RDWR | O_CLOEXEC) }
    deinit { if descriptor >= 0 { Foundation.close(descriptor) } }
}

/// The write-ahead log. The file exists from the first change until the last connection is closed.
final class HeldLog: Sendable {
    struct Failure: Error { var code: Int32 }
    private let path: String
    private let descriptor = AdaptiveMutex<Int32>(-1)

    init(_ path: String) { self.path = path }

    /// In bytes.
    var size: Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }
    deinit { descriptor.withLock { if $0 >= 0 { Foundation.close($0) } } }

    /// fdatasync(2). Keep one descriptor: the kernel reports a disk error once to each descriptor that was open by
    /// then. Without a log file its content has been checkpointed, and SQLite synced it.
    func synchronize() throws(Failure) {
        let (log, code) = descriptor.withLock { descriptor in
            if descriptor < 0 { descriptor = open(path, O_RDWR | O_CLOEXEC) }
            return (descriptor, errno)
        }
        if log < 0, code == ENOENT { return }
        guard log >= 0 else { throw Failure(code: code) }
        guard fdatasync(log) == 0 else { throw Failure(code: errno) }
    }
}
