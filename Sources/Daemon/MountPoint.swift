import ControlAPI
import Foundation

/// Makes sure that a mount point can be used, and clears one that a killed daemon left dead.
enum MountPoint {
    /// Returns the canonical path.
    static func prepare(_ path: String) throws(DaemonError) -> String {
        try clearDead(path)
        guard let resolved = realpath(path, nil) else {
            let why = errno == ENOENT ? "does not exist; make it with mkdir -p" : String(cString: strerror(errno))
            throw DaemonError("\(path): \(why)")
        }
        defer { free(resolved) }
        let canonical = String(cString: resolved)
        if let mount = MountTable.mount(at: canonical), mount.fileSystem == MountTable.hydrantType {
            throw DaemonError("\(canonical): \(mount.source) is mounted there already; unmount it first")
        }
        var status = stat()
        guard stat(canonical, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw DaemonError("\(canonical): is not a directory")
        }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: canonical) else {
            throw DaemonError("\(canonical): cannot be read; choose a mount point of your own")
        }
        guard names.isEmpty else {
            throw DaemonError("\(canonical): is not empty; choose an empty directory, so that nothing is hidden")
        }
        return canonical
    }

    /// A mount whose daemon was killed answers ENOTCONN for ever; only ours is cleared.
    private static func clearDead(_ path: String) throws(DaemonError) {
        var status = stat()
        guard stat(path, &status) != 0, errno == ENOTCONN || errno == ECONNABORTED else { return }
        let absolute = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        let trimmed = absolute.count > 1 && absolute.hasSuffix("/") ? String(absolute.dropLast()) : absolute
        guard MountTable.entries().contains(where: {
            $0.fileSystem == MountTable.hydrantType && $0.mountPoint.hasSuffix("/" + (trimmed as NSString).lastPathComponent)
        }) else {
            throw DaemonError("\(path): a dead mount of another program is there; unmount it with fusermount3 -u")
        }
        guard Unmounter.unmount(trimmed, lazily: true) == nil else {
            throw DaemonError("\(path): a dead mount is there and cannot be cleared; run: fusermount3 -uz \(path)")
        }
    }
}
