import ContentStore
import Foundation

/// Copies one file durably, with its modification date and mode.
struct FileCopy {
    let source: Int32
    let target: Int32
    /// The size in bytes.
    let size: Int64
    /// The target's path, for people.
    let path: String

    /// - Returns: the error; nil: the whole copy is on the disk.
    func run() -> String? {
        do { try SparseCopy.run(from: source, to: target, size: size, path: path) } catch { return error.message }
        return fsync(target) == 0 ? nil : Self.lastError
    }

    /// Sets the modification date (nanoseconds since 1970) and the permission bits; drops setuid, setgid and sticky,
    /// because the mode comes from an untrusted label.
    func dress(mode: UInt32, modified: Int128) -> String? {
        var (seconds, rest) = modified.quotientAndRemainder(dividingBy: 1_000_000_000)
        if rest < 0 { (seconds, rest) = (seconds - 1, rest + 1_000_000_000) }
        let time = timespec(tv_sec: Int(clamping: seconds), tv_nsec: Int(rest))
        guard fchmod(target, mode & 0o777) == 0, futimens(target, [time, time]) == 0 else { return Self.lastError }
        return nil
    }

    /// Writes a small file; returns the error.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> String? {
        var done = 0
        while done < bytes.count {
            let step = bytes.withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress! + done, bytes.count - done, off_t(done))
            }
            if step < 0 && errno == EINTR { continue }
            if step < 0 { return lastError }
            done += step
        }
        return fsync(descriptor) == 0 ? nil : lastError
    }

    private static var lastError: String { String(cString: strerror(errno)) }
}
