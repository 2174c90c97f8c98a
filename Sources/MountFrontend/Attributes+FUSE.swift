import FUSE
import FileProvider
import Glibc
import ItemCatalog
import Trees
import Volume

/// The kernel may cache entries for ever: only the daemon changes names and attributes, and it invalidates them.
let forEver: Double = 1_000_000_000

extension NodeAttributes {
    var timeout: Double { isStable ? forEver : 0 }

    var stat: Glibc.stat {
        var status = Glibc.stat()
        status.st_ino = UInt(record.id.rawValue)
        status.st_mode = record.kind.fileType | mode
        status.st_nlink = UInt(max(0, record.linkCount))
        status.st_uid = record.uid
        status.st_gid = record.gid
        status.st_rdev = UInt(record.device)
        status.st_size = Int(record.size)
        status.st_blksize = 128 << 10
        status.st_blocks = Int(blocks)
        status.st_atim = record.accessed.timespec
        status.st_mtim = record.modified.timespec
        status.st_ctim = record.changed.timespec
        return status
    }
}

extension InodeKind {
    var fileType: UInt32 {
        switch self {
        case .document: S_IFREG
        case .folder: S_IFDIR
        case .link: S_IFLNK
        case .pipe: S_IFIFO
        case .socket: S_IFSOCK
        case .characterDevice: S_IFCHR
        case .blockDevice: S_IFBLK
        }
    }
}

extension FileTime {
    var timespec: Glibc.timespec { Glibc.timespec(tv_sec: Int(seconds), tv_nsec: Int(subsecond)) }
    init(_ time: Glibc.timespec) { self.init(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec)) }
}

extension Lookup {
    /// As a reply to the kernel.
    func entry(isCached: Bool) -> FUSEEntry {
        FUSEEntry(
            node: node.rawValue, attributes: attributes.stat, attributeTimeout: isCached ? attributes.timeout : 0,
            entryTimeout: isCached ? forEver : 0)
    }
}

extension AttributeRequest {
    init(_ wanted: FUSESetAttributes) {
        func time(_ time: FUSESetAttributes.Time?) -> FileTime? {
            switch time {
            case nil: nil
            case .now: .now
            case .at(let moment): FileTime(moment)
            }
        }
        self.init(
            attributes: AttributeChange(
                mode: wanted.mode.map { $0 & 0o7777 }, uid: wanted.uid, gid: wanted.gid,
                accessed: time(wanted.atime), modified: time(wanted.mtime)),
            size: wanted.size, killsPrivileges: wanted.killPrivileges)
    }
}

extension FUSEOpenReply {
    /// - Parameter isCached: else reads and writes come to us, and the kernel's own ways to the file are another mount's.
    init(_ opened: Opened, isCached: Bool) {
        guard isCached else {
            self.init(handle: opened.handle.rawValue, noFlush: opened.isReadOnly, directIO: true)
            return
        }
        let (backing, isDirect): (BackingID?, Bool) =
            switch opened.mode {
            case .cached: (nil, false)
            case .passthrough(let id): (BackingID(rawValue: id), false)
            // FOPEN_DIRECT_IO takes precedence over passthrough for reading and writing.
            case .direct(let id): (BackingID(rawValue: id), true)
            }
        self.init(
            handle: opened.handle.rawValue, keepCache: backing == nil, noFlush: opened.isReadOnly,
            directIO: isDirect, cacheDirectory: false, backing: backing)
    }
}
