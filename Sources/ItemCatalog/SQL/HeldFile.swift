import Foundation
import Locking

/// A descriptor that is open for as long as this is there.
final class HeldFile: Sendable {
    let descriptor: Int32
    init(_ path: String) { descriptor = open(path, O_RDWR | O_CLOEXEC) }
    deinit { if descriptor >= 0 { Foundation.close(descriptor) } }
}

/// The write-ahead log. It is there from the first change on until the last connection is closed.
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

    /// fdatasync(2). Of one descriptor: an error of the disk's is told once to each that was open by then.
    /// Where there is no log, what was in it has been checkpointed, which SQLite syncs.
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
