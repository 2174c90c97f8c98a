import Glibc
import Surroundings

/// The mounts that this process sees (proc(5), mountinfo). Does not access the mount points, of which one may hang.
public enum MountTable {
    public struct Entry: Sendable, Equatable {
        public var mountPoint: String
        public var fileSystem: String
        public var source: String
        /// The user whose daemon serves the mount (`user_id` of a FUSE mount); nil: not a FUSE mount.
        public var owner: UInt32?
    }

    public static let hydrantType = "fuse.hydrant"
    /// The type of a scoped mount, which shows one item; its source is the mount point of that item's domain.
    package static let scopedType = "fuse.hydrant-scoped"

    /// In the order of mounting: of two on one mount point, the later one is on top.
    public static func entries() -> [Entry] { MountInfo.all().map(Entry.init) }

    /// The domains that this user has mounted. Other users' daemons refuse his requests, and the type proves nothing:
    /// any user may give it to a file system of his own.
    public static func ownDomains() -> [Entry] { hydrantMounts().filter { $0.owner == geteuid() } }

    /// All users' domains, in the order of mounting.
    package static func hydrantMounts() -> [Entry] { MountInfo.all(of: hydrantType).map(Entry.init) }

    /// The topmost mount at exactly this path.
    public static func mount(at path: String) -> Entry? { entries().last { $0.mountPoint == path } }

    /// The Hydrant mount, of any user, that an absolute path is in.
    public static func hydrantMount(containing path: String) -> Entry? {
        hydrantMount(containing: path, in: hydrantMounts())
    }

    package static func hydrantMount(containing path: String, in mounts: [Entry]) -> Entry? {
        mounts.filter { entry in
            path == entry.mountPoint || path.hasPrefix(entry.mountPoint == "/" ? "/" : entry.mountPoint + "/")
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
