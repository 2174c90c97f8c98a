import Glibc

/// The text of an errno value, for messages.
func describe(errno code: CInt) -> String {
    String(cString: strerror(code))
}

/// lstat(2); nil, with `errno`, if it fails.
func lstatOf(_ path: String) -> stat? {
    var info = stat()
    return lstat(path, &info) == 0 ? info : nil
}

extension stat {
    var isSocket: Bool { st_mode & S_IFMT == S_IFSOCK }
    var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }
    var isSymbolicLink: Bool { st_mode & S_IFMT == S_IFLNK }
    var permissions: mode_t { st_mode & 0o7777 }
}
