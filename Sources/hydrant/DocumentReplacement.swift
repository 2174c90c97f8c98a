import ArgumentParser
import CLinux
import Foundation

/// Replaces a document by a new file, renamed over it, with the old one's mode and attributes; the mount keeps the
/// document's identity.
struct DocumentReplacement {
    let path: String
    /// For messages.
    let shown: String
    private let draft: String

    init(_ path: String, shown: String) {
        self.path = path
        self.shown = shown
        // (No store gets such a name; what a killed process leaves, the next mount removes.)
        draft = (path as NSString).deletingLastPathComponent + "/.hydrant-scoped-restore-" + UUID().uuidString
    }

    /// - Parameter source: the new bytes.
    func put(_ source: Int32) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { throw fail("\(shown): \(reason())") }
        guard faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 else {
            throw fail("\(shown): \(reason()); only a document that you may write can be restored")
        }
        let target = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard target >= 0 else { throw fail("\(shown): its folder: \(reason())") }
        defer { close(target) }
        do {
            try copy(source, target)
            keepAttributes(on: target)
            guard fchmod(target, status.st_mode & 0o777) == 0, fsync(target) == 0, rename(draft, path) == 0 else {
                throw fail("\(shown): \(reason())")
            }
        } catch {
            unlink(draft)
            throw error
        }
    }

    private func copy(_ source: Int32, _ target: Int32) throws {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var offset: off_t = 0
        while true {
            let count = pread(source, &buffer, buffer.count, offset)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0, writeAll(buffer[..<count], to: target) else { throw fail("\(shown): \(reason())") }
            if count == 0 { return }
            offset += off_t(count)
        }
    }

    /// Attributes that only the system may set stay behind.
    private func keepAttributes(on target: Int32) {
        let size = listxattr(path, nil, 0)
        guard size > 0 else { return }
        var names = [CChar](repeating: 0, count: size)
        let count = listxattr(path, &names, names.count)
        guard count > 0 else { return }
        for name in names.prefix(count).split(separator: 0) {
            let name = Array(name) + [0]
            let length = getxattr(path, name, nil, 0)
            guard length >= 0 else { continue }
            var value = [UInt8](repeating: 0, count: length)
            guard getxattr(path, name, &value, length) == length else { continue }
            _ = fsetxattr(target, name, value, length, 0)
        }
    }
}
