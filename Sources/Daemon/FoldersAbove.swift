import Foundation

/// The folders above a path. A user with write permission on one of them can replace the folder's children with a
/// symbolic link or another folder at any moment.
enum FoldersAbove {
    /// Describes the first folder in which users other than root may rename root's files; nil: there is none.
    /// World-writable sticky folders such as /tmp are safe. Missing folders are skipped.
    ///
    /// - Parameter path: absolute and without symbolic links; a symbolic link is a problem as well.
    static func problem(of path: String) -> String? {
        // (The owner of "/" may change everything. In a user namespace that is the outer root, whose uid has no mapping
        // there.)
        var top = stat()
        guard lstat("/", &top) == 0 else { return "/ cannot be inspected" }
        var folder = ""
        let parts: [Substring] = [""] + Array(path.split(separator: "/").dropLast())
        for part in parts {
            folder += part.isEmpty ? "" : "/" + part
            let name = folder.isEmpty ? "/" : folder
            var status = stat()
            guard lstat(name, &status) == 0 else {
                if errno == ENOENT { return nil }
                return "\(name) cannot be inspected (\(String(cString: strerror(errno))))"
            }
            guard status.st_mode & S_IFMT == S_IFDIR else { return "\(name) is not a folder" }
            guard [0, top.st_uid].contains(status.st_uid) else { return "\(name) belongs to user \(status.st_uid)" }
            let isSticky = status.st_mode & S_ISVTX != 0
            let others = [0, top.st_gid].contains(status.st_gid) ? S_IWOTH : S_IWOTH | S_IWGRP
            if !isSticky, status.st_mode & others != 0 { return "users other than root may write to \(name)" }
        }
        return nil
    }
}
