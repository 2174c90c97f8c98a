import Foundation

/// The folders on the way to a path. Whoever may write to one of them can put a symbolic link, or another folder, in the place
/// of what lies in it, at any moment.
enum FoldersAbove {
    /// In which of them others than root may rename what is root's; nil: in none. A folder that is for everybody, and sticky
    /// (as /tmp is), is none of those. What is missing on the way is passed over.
    ///
    /// - Parameter path: absolute and free of symbolic links: one is a problem as well.
    static func problem(of path: String) -> String? {
        // (Whoever has "/" has all of it. In a user namespace that is root outside, whom it knows by no number of his own.)
        var top = stat()
        guard lstat("/", &top) == 0 else { return "/ cannot be looked at" }
        var folder = ""
        let parts: [Substring] = [""] + Array(path.split(separator: "/").dropLast())
        for part in parts {
            folder += part.isEmpty ? "" : "/" + part
            let name = folder.isEmpty ? "/" : folder
            var status = stat()
            guard lstat(name, &status) == 0 else {
                if errno == ENOENT { return nil }
                return "\(name) cannot be looked at (\(String(cString: strerror(errno))))"
            }
            guard status.st_mode & S_IFMT == S_IFDIR else { return "\(name) is not a folder" }
            guard [0, top.st_uid].contains(status.st_uid) else { return "\(name) belongs to user \(status.st_uid)" }
            let isSticky = status.st_mode & S_ISVTX != 0
            let others = [0, top.st_gid].contains(status.st_gid) ? S_IWOTH : S_IWOTH | S_IWGRP
            if !isSticky, status.st_mode & others != 0 { return "others than root may write to \(name)" }
        }
        return nil
    }
}
