import ControlAPI
import Foundation

/// Checks that a mount point is usable, and unmounts what a killed daemon left there.
enum MountPoint {
    /// - Returns: the canonical path.
    static func prepare(_ path: String) throws(DaemonError) -> String {
        let canonical = try canonical(path)
        if let mount = MountTable.mount(at: canonical), mount.fileSystem == MountTable.hydrantType {
            try clear(canonical, mount)
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

    /// Only resolves the folder above: the mount at the path may be dead.
    private static func canonical(_ path: String) throws(DaemonError) -> String {
        let absolute = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        let name = (absolute as NSString).lastPathComponent
        let plain = name == "/" || name == "." || name == ".."
        let folder = plain ? absolute : (absolute as NSString).deletingLastPathComponent
        guard let above = resolved(folder) else { throw missing(path) }
        let unresolved = plain ? above : (above == "/" ? "" : above) + "/" + name
        if MountTable.mount(at: unresolved) != nil { return unresolved }
        guard let canonical = resolved(unresolved) else { throw missing(path) }
        return canonical
    }

    private static func missing(_ path: String) -> DaemonError {
        DaemonError(
            "\(path): \(errno == ENOENT ? "does not exist; make it with mkdir -p" : String(cString: strerror(errno)))")
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Unmounts a mount whose daemon was killed; such a mount answers ENOTCONN. Uses statfs(2), which always asks the
    /// daemon; the kernel may answer stat(2) from its cache.
    private static func clear(_ mountPoint: String, _ mount: MountTable.Entry) throws(DaemonError) {
        // (Refuse for root too: another user can give any file system our type.)
        guard mount.owner == geteuid() else {
            throw DaemonError("\(mountPoint): another user's mount is there; choose another directory")
        }
        // A daemon that was killed at a bad moment may leave a mount that blocks programs, and would block us.
        if let daemon = ServingProcess.serving(mountPoint), !daemon.isAlive {
            KernelConnection(mountPoint: mountPoint)?.abort()
        }
        var statistics = statvfs()
        guard statvfs(mountPoint, &statistics) != 0, errno == ENOTCONN || errno == ECONNABORTED else {
            throw DaemonError("\(mountPoint): \(mount.source) is mounted there already; unmount it first")
        }
        if let problem = Unmounter.unmount(mountPoint, lazily: true) {
            throw DaemonError("a dead mount cannot be cleared: \(problem); run: fusermount3 -uz \(mountPoint)")
        }
    }
}
