import Foundation

/// Small files in the state directory.
enum StateFile {
    /// Replaced whole, and on disk when this returns; mode 0600.
    static func write(_ data: Data, to path: String) throws {
        let new = path + ".new"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw error(new) }
        defer { close(descriptor) }
        let bytes = [UInt8](data)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0, rename(new, path) == 0
        else {
            let error = error(new)
            unlink(new)
            throw error
        }
        // The name as well.
        let folder = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    private static func error(_ path: String) -> DaemonError {
        DaemonError("\(path): cannot be written: \(String(cString: strerror(errno)))")
    }
}

/// What of a domain outlives its catalog and its documents: with these, bookmarks, references and grants that were given away are
/// good again after the next sign-in.
enum KeptFiles {
    static let key = "bookmarks.json"
    static let grants = "grants.json"
    static let identifiers = "identifiers.jsonl"
    /// (The lock is held while the rest is removed.)
    static let names: Set<String> = [key, grants, identifiers, "lock"]
}
