import Foundation
import Glibc
import Surroundings

/// The folder of the sockets of mounted domains, which only their user can access.
public enum SocketDirectory {
    /// Replaces `$XDG_RUNTIME_DIR` in tests that talk to a daemon with a runtime folder of its own.
    @TaskLocal package static var runtimeDirectory: String?

    /// The folder, made if need be (mode 0700): `$XDG_RUNTIME_DIR/hydrant`, else `/run/user/UID/hydrant`,
    /// else `/tmp/hydrant-UID`.
    ///
    /// A runtime folder that does not exist or is not ours (as under `sudo`) is skipped.
    ///
    /// - Throws: ``ControlError/Code/refused`` when the folder is a symbolic link, belongs to another user or is open
    ///   to
    ///   others, since these could intercept connections.
    public static func path() throws(ControlError) -> String {
        try path(
            runtimeDirectory: runtimeDirectory ?? BaseDirectory.runtime(),
            systemDirectory: "/run/user/\(geteuid())", fallbackParent: "/tmp")
    }

    /// The socket of the domain that is mounted at `mountPoint`, which should be absolute and free of
    /// symbolic links, so that daemon and command arrive at the same one. The file need not exist.
    ///
    /// The file's name is short for any mount point, because `sun_path` has 108 bytes.
    public static func socketPath(mountPoint: String) throws(ControlError) -> String {
        let socket = try path() + "/" + socketName(mountPoint: mountPoint)
        try checkLength(socket)
        return socket
    }

    static func path(
        runtimeDirectory: String?, systemDirectory: String, fallbackParent: String
    ) throws(ControlError) -> String {
        let candidates = [runtimeDirectory, systemDirectory].compactMap { $0 }
        let parent = candidates.first { candidate in
            guard candidate.hasPrefix("/"), let info = lstatOf(candidate) else { return false }
            return info.isDirectory && info.st_uid == geteuid()
        }
        let folder = parent.map { "\($0)/hydrant" } ?? "\(fallbackParent)/hydrant-\(geteuid())"
        try makePrivate(folder)
        return folder
    }

    /// A hash of the mount point, which has a constant length.
    static func socketName(mountPoint: String) -> String {
        let hex = StableHash(normalized(mountPoint).utf8).text
        return String(repeating: "0", count: 16 - hex.count) + hex + ".sock"
    }

    static func checkLength(_ socket: String) throws(ControlError) {
        let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        guard socket.utf8.count <= limit else {
            throw ControlError(
                .system,
                "the socket's path \(socket) is longer than \(limit) bytes; set XDG_RUNTIME_DIR to a shorter one"
            )
        }
    }

    /// `path` without `//`, `/./` and a trailing `/`; `..` stays, because it may follow a link.
    private static func normalized(_ path: String) -> String {
        let absolute =
            path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        return "/" + absolute.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    /// Makes `folder`, or checks that the existing one is ours alone.
    private static func makePrivate(_ folder: String) throws(ControlError) {
        if mkdir(folder, 0o700) != 0 {
            let code = errno
            guard code == EEXIST else {
                throw ControlError(
                    .system, "cannot make the folder for sockets, \(folder): \(describe(errno: code))")
            }
        }
        guard let info = lstatOf(folder) else {
            throw ControlError(.system, "\(folder): \(describe(errno: errno))")
        }
        if let problem = problem(of: info) {
            throw ControlError(
                .refused, "\(folder): \(problem); find out who made it, remove it, and try again")
        }
    }

    private static func problem(of info: stat) -> String? {
        if info.isSymbolicLink { return "is a symbolic link, not a folder" }
        if !info.isDirectory { return "is not a folder" }
        if info.st_uid != geteuid() { return "belongs to user \(info.st_uid), not to you" }
        if info.permissions & 0o077 != 0 {
            return "is open to others (mode \(String(info.permissions, radix: 8)), should be 700)"
        }
        return nil
    }
}
