import Foundation

/// Files that only their owner can read, replaced whole.
enum PrivateFile {
    static func makeFolder(_ path: String) throws(AccountError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw AccountError("\(path): cannot be made: \(error.localizedDescription)") }
    }

    /// On return it is on disk, with mode 0600.
    static func write(_ bytes: [UInt8], to path: String) throws(AccountError) {
        // Who keeps it elsewhere, behind a link, goes on doing so.
        let target =
            realpath(path, nil).map { pointer in
                defer { free(pointer) }
                return String(cString: pointer)
            } ?? path
        let new = target + ".new-\(getpid())"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw last(new) }
        defer { close(descriptor) }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Foundation.write(descriptor, $0.baseAddress! + done, bytes.count - done)
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw abandoned(new) }
            done += count
        }
        guard fchmod(descriptor, 0o600) == 0, fsync(descriptor) == 0, rename(new, target) == 0 else {
            throw abandoned(new)
        }
    }

    private static func abandoned(_ path: String) -> AccountError {
        let error = last(path)
        unlink(path)
        return error
    }

    static func last(_ path: String) -> AccountError { AccountError("\(path): \(String(cString: strerror(errno)))") }
}
