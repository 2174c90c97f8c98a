internal import CFUSE
internal import Glibc

// Helpers for the entries of the operations table.

func connection(of request: fuse_req_t?) -> FUSEConnection {
    FUSEConnection.of(fuse_req_userdata(request))
}

func dispatch(_ raw: fuse_req_t?, _ call: (any FUSEFileSystem, consuming FUSERequest) -> Void) {
    let connection = connection(of: raw)
    let request = FUSERequest(raw!, connection)
    // Without a file system the request is dropped, which answers EIO.
    if let fileSystem = connection.fileSystem { call(fileSystem, request) }
}

/// A name from libfuse, without its NUL.
func bytes(_ name: UnsafePointer<CChar>?) -> [UInt8] {
    guard let name else { return [] }
    return [UInt8](UnsafeRawBufferPointer(start: name, count: strlen(name)))
}

extension FUSESetAttributes {
    /// libfuse's own flags for killing privileges differ between its versions (3.14.0 has them, 3.14.1 not).
    init(values: stat, set: Int32, killPrivileges: Bool) {
        func has(_ flag: Int32) -> Bool { set & flag != 0 }
        func time(_ flag: Int32, _ now: Int32, _ value: timespec) -> Time? {
            if has(now) { return .now }
            return has(flag) ? .at(value) : nil
        }
        self.init(
            mode: has(FUSE_SET_ATTR_MODE) ? values.st_mode : nil,
            uid: has(FUSE_SET_ATTR_UID) ? values.st_uid : nil,
            gid: has(FUSE_SET_ATTR_GID) ? values.st_gid : nil,
            size: has(FUSE_SET_ATTR_SIZE) ? Int64(values.st_size) : nil,
            atime: time(FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, values.st_atim),
            mtime: time(FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, values.st_mtim),
            ctime: has(FUSE_SET_ATTR_CTIME) ? values.st_ctim : nil,
            killPrivileges: killPrivileges)
    }
}
