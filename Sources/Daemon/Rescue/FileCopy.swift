import ContentStore
import Foundation

/// Copies one file, durably, with its date and mode.
struct FileCopy {
    let source: Int32
    let target: Int32
    /// In bytes.
    let size: Int64
    /// Of the target, for people.
    let path: String

    /// Returns why not; nil when all of it is there, durably.
    func run() -> String? {
        do { try SparseCopy.run(from: source, to: target, size: size, path: path) } catch { return error.message }
        return fsync(target) == 0 ? nil : Self.lastError
    }

    /// Permission bits (never setuid and the like: nobody vouches for them) and date, in nanoseconds since 1970.
    func dress(mode: UInt32, modified: Int128) -> String? {
        var (seconds, rest) = modified.quotientAndRemainder(dividingBy: 1_000_000_000)
        if rest < 0 { (seconds, rest) = (seconds - 1, rest + 1_000_000_000) }
        let time = timespec(tv_sec: Int(clamping: seconds), tv_nsec: Int(rest))
        guard fchmod(target, mode & 0o777) == 0, futimens(target, [time, time]) == 0 else { return Self.lastError }
        return nil
    }

    /// Writes a small file; returns why not.
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
