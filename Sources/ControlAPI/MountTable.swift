import Glibc
import Surroundings

/// The mounts that this process sees (proc(5), mountinfo). Looks at no mount point itself, so that a
/// dead or hung one does no harm.
public enum MountTable {
    public struct Entry: Sendable, Equatable {
        public var mountPoint: String
        public var fileSystem: String
        public var source: String
        /// Whose daemon serves it (`user_id` of a FUSE mount); nil: it is no FUSE mount.
        public var owner: UInt32?
    }

    public static let hydrantType = "fuse.hydrant"
    /// Of a folder that shows one item; its source is the mount point of that item's domain.
    package static let scopedType = "fuse.hydrant-scoped"

    /// In the order they were mounted: of two on one mount point, the later one is on top.
    public static func entries() -> [Entry] { MountInfo.all().map(Entry.init) }

    /// The domains that this user has mounted. Others' daemons take no orders from him, and a type is soon said: any user
    /// may give it to a file system of his own.
    public static func ownDomains() -> [Entry] {
        entries().filter { $0.fileSystem == hydrantType && $0.owner == geteuid() }
    }

    /// The mount that is on top at this path, if one is mounted exactly there.
    public static func mount(at path: String) -> Entry? { entries().last { $0.mountPoint == path } }

    /// The hydrant mount that an absolute path lies in, whoever's it is.
    public static func hydrantMount(containing path: String) -> Entry? {
        entries().filter { entry in
            entry.fileSystem == hydrantType
                && (path == entry.mountPoint || path.hasPrefix(entry.mountPoint == "/" ? "/" : entry.mountPoint + "/"))
        }.max { $0.mountPoint.utf8.count < $1.mountPoint.utf8.count }
    }
}

extension MountTable.Entry {
    init(_ info: MountInfo) {
        self.init(
            mountPoint: String(decoding: info.mountPoint, as: UTF8.self), fileSystem: info.type,
            source: String(decoding: info.source, as: UTF8.self), owner: info.user)
    }
}
