import ArgumentParser
import CLinux
import Foundation

/// Replaces a document by a new file, renamed over it, with the old one's mode and attributes; the mount keeps the
/// document's identity.
///
/// Contents that a program writes meanwhile survive: a change before the rename stops it, and contents that the rename
/// replaced all the same are copied to a document beside.
struct DocumentReplacement {
    let path: String
    /// For messages.
    let shown: String
    private let draft: String
    private let before: stat

    /// Looks at the document: later changes of it are noticed.
    init(_ path: String, shown: String) throws {
        self.path = path
        self.shown = shown
        // (No store gets such a name; what a killed process leaves, the next mount removes.)
        draft = (path as NSString).deletingLastPathComponent + "/.hydrant-scoped-restore-" + UUID().uuidString
        var status = stat()
        guard stat(path, &status) == 0 else { throw fail("\(shown): \(reason())") }
        guard faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 else {
            throw fail("\(shown): \(reason()); only a document that you may write can be restored")
        }
        before = status
    }

    /// - Parameter source: the new bytes.
    func put(_ source: Int32) throws {
        let target = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard target >= 0 else { throw fail("\(shown): its folder: \(reason())") }
        defer { close(target) }
        // (The mount keeps what is open, also without a name.)
        let old = open(path, O_RDONLY | O_CLOEXEC)
        defer { if old >= 0 { close(old) } }
        do {
            try copy(source, target)
            keepAttributes(on: target)
            var now = stat()
            guard old >= 0, stat(path, &now) == 0 else { throw fail("\(shown): \(reason())") }
            guard isStillThis(now), fstat(old, &now) == 0, isStillThis(now) else {
                throw fail("\(shown): was changed meanwhile; nothing was restored. Run the command again")
            }
            guard fchmod(target, before.st_mode & 0o777) == 0, fsync(target) == 0, rename(draft, path) == 0 else {
                throw fail("\(shown): \(reason())")
            }
        } catch {
            unlink(draft)
            throw error
        }
        var now = stat()
        if fstat(old, &now) != 0 || !isStillThis(now) { try putAside(old) }
    }

    private func isStillThis(_ now: stat) -> Bool {
        (now.st_ino, now.st_size, now.st_mtim.tv_sec, now.st_mtim.tv_nsec)
            == (before.st_ino, before.st_size, before.st_mtim.tv_sec, before.st_mtim.tv_nsec)
    }

    /// Copies the replaced contents, which a program changed at the last moment, to a document beside.
    private func putAside(_ old: Int32) throws {
        let folder = (path as NSString).deletingLastPathComponent
        let name = (path as NSString).lastPathComponent as NSString
        for number in 1...99 {
            let mark = number == 1 ? "saved during a restore" : "saved during a restore \(number)"
            let suffix = name.pathExtension.isEmpty ? "" : "." + name.pathExtension
            let place = "\(folder)/\(name.deletingPathExtension) (\(mark))\(suffix)"
            let target = open(place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, before.st_mode & 0o777)
            if target < 0 && errno == EEXIST { continue }
            guard target >= 0 else { break }
            defer { close(target) }
            try copy(old, target)
            guard fsync(target) == 0 else { break }
            return warn("\(shown): a program saved it at the same moment; its bytes are in \(place)")
        }
        throw fail("\(shown): a program saved it at the same moment, and its bytes could not be kept: \(reason())")
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
