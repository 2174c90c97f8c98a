import ControlAPI
import DocumentServices
import Foundation
import Surroundings

/// The folder of a domain's catalog and content; locked while this object exists.
final class StateDirectory: Sendable {
    let path: String
    private let lock: Int32

    var catalogPath: String { path + "/catalog.sqlite" }
    var storePath: String { path + "/content" }

    /// Creates the directory (0700) if it is missing, and locks it. Accepts an empty folder or a state directory, and
    /// nothing else. For root, other users must not be able to replace a folder above it: the daemon opens the path
    /// many times.
    convenience init(path: String) throws(DaemonError) {
        let isRoots = geteuid() == 0
        let place = isRoots ? Self.resolved(path) : path
        if isRoots { try Self.checkWay(to: place) }
        try Self.make(place)
        // Other users may have created missing folders meanwhile, in a world-writable place such as /tmp.
        if isRoots { try Self.checkWay(to: place) }
        try self.init(locking: place)
    }

    private static func checkWay(to place: String) throws(DaemonError) {
        guard let problem = FoldersAbove.problem(of: place) else { return }
        throw DaemonError(
            "\(place): \(problem), but only root may change root's state directory; choose another one with --state-dir DIR"
        )
    }

    /// Opens an existing directory for a command that examines it in the daemon's place. Creates and changes only the
    /// lock file.
    convenience init(existing path: String) throws(DaemonError) {
        try Self.check(path)
        try self.init(locking: path)
    }

    /// Throws unless the path is a domain's state directory.
    static func check(_ path: String) throws(DaemonError) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw DaemonError("\(path): \(String(cString: strerror(errno)))") }
        guard stat(path + "/content/storage", &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw DaemonError("\(path): is not a state directory of hydrant (it has no content/storage)")
        }
    }

    private init(locking path: String) throws(DaemonError) {
        self.path = path
        let file = path + "/lock"
        lock = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw DaemonError("\(file): \(String(cString: strerror(errno)))") }
        guard Self.lock(lock) else {
            let holder = Self.text(of: lock)
            close(lock)
            var error = DaemonError(
                "\(path): in use by another hydrant daemon\(holder.isEmpty ? "" : " (pid \(holder))"); unmount that one first"
            )
            error.isInUse = true
            throw error
        }
        ftruncate(lock, 0)
        let pid = "\(getpid())\n"
        pwrite(lock, pid, pid.utf8.count, 0)
    }

    /// A killed daemon keeps the lock until the kernel has ended its last thread.
    private static func lock(_ descriptor: Int32) -> Bool {
        for _ in 0..<500 {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
            guard let holder = Int32(text(of: descriptor)), let process = ServingProcess(pid: holder), !process.isAlive
            else { return flock(descriptor, LOCK_EX | LOCK_NB) == 0 }
            usleep(10_000)
        }
        return false
    }

    deinit { close(lock) }

    static func defaultPath(domain: String) throws(DaemonError) -> String {
        guard let data = BaseDirectory.data.path() else {
            throw DaemonError("\(BaseDirectory.data.missing); choose a state directory with --state-dir DIR")
        }
        return "\(data)/hydrant/domains/\(domain)"
    }

    // MARK: Checks

    /// Resolves a path that may not exist yet: follows links in the existing part.
    static func resolved(_ path: String) -> String {
        var there = path.split(separator: "/")
        var missing: [Substring] = []
        while true {
            if let resolved = realpath("/" + there.joined(separator: "/"), nil) {
                defer { free(resolved) }
                let start = String(cString: resolved)
                return beyond(start == "/" ? "" : start, missing)
            }
            guard let last = there.popLast() else { return path }
            missing.insert(last, at: 0)
        }
    }

    /// Missing folders will be created, so that a `..` after such a folder leads to its parent.
    private static func beyond(_ start: String, _ missing: [Substring]) -> String {
        guard missing.contains("..") else { return missing.reduce(start) { "\($0)/\($1)" } }
        var parts = start.split(separator: "/")
        for part in missing where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return resolved("/" + parts.joined(separator: "/"))
    }

    /// A daemon whose state is in its own mount would wait for itself; state in the store, or a store in the state
    /// directory, would make local files documents.
    static func checkApart(_ path: String, mountPoint: String, store: StoreFolder?) throws(DaemonError) {
        let place = resolved(path)
        let advice = "choose another one with --state-dir DIR"
        if StoreFolder.contains(mountPoint, place) || StoreFolder.contains(place, mountPoint) {
            throw DaemonError(
                "\(path): the state directory and the mount point \(mountPoint) are nested; \(advice)")
        }
        if let mount = MountTable.hydrantMount(containing: place) {
            throw DaemonError("\(path): the state directory is in the mount \(mount.mountPoint); \(advice)")
        }
        if let store, StoreFolder.contains(store.path, place) || StoreFolder.contains(place, store.path) {
            throw DaemonError(
                "\(path): the state directory and the store \(store.path) are nested; \(advice)")
        }
    }

    /// Call this before any change. A daemon that was killed at its first start may have left only its lock, or its
    /// lock and its catalog.
    private static func checkIsOurs(_ path: String) throws(DaemonError) {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
            throw DaemonError("\(path): cannot be read: \(error.localizedDescription)")
        }
        var status = stat()
        // The root of a file system may have a lost+found; a removed domain may have left only the kept files.
        if names.allSatisfy({ $0 == "lost+found" || KeptFiles.names.contains($0) }) { return }
        if stat(path + "/content/storage", &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
        if lstat(path + "/lock", &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            names.contains("catalog.sqlite")
        {
            return
        }
        throw DaemonError(
            "\(path): is neither empty nor a state directory of hydrant; choose another one with --state-dir DIR")
    }

    private static func make(_ path: String) throws(DaemonError) {
        var built = ""
        for part in path.split(separator: "/") {
            built += "/" + part
            if mkdir(built, 0o700) != 0 && errno != EEXIST && errno != EISDIR && errno != EROFS {
                throw DaemonError("\(built): cannot be made: \(String(cString: strerror(errno)))")
            }
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw DaemonError("\(path): is not a directory; choose another one with --state-dir DIR")
        }
        guard status.st_uid == geteuid() else {
            throw DaemonError(
                "\(path): belongs to user \(status.st_uid), not to you; choose another one with --state-dir DIR")
        }
        try checkIsOurs(path)
        guard chmod(path, 0o700) == 0, access(path, R_OK | W_OK | X_OK) == 0 else {
            throw DaemonError("\(path): cannot be written: \(String(cString: strerror(errno)))")
        }
    }

    private static func text(of descriptor: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &buffer, 31, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self).trimmingCharacters(
            in: .whitespacesAndNewlines)
    }
}
