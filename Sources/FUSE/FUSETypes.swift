internal import CFUSE
public import Glibc

/// File flags that Glibc's module lacks.
public enum FUSEFileFlags {
    /// O_DIRECT
    public static let direct = Int32(HYDRANT_O_DIRECT)
}

/// The caller. `umask` is only known for mkdir, mknod and create.
public struct FUSEContext: Sendable {
    public var uid: UInt32
    public var gid: UInt32
    public var pid: Int32
    public var umask: UInt32

    public init(uid: UInt32, gid: UInt32, pid: Int32, umask: UInt32) {
        self.uid = uid
        self.gid = gid
        self.pid = pid
        self.umask = umask
    }
}

/// The reply to a look-up: the node, and for how many seconds the kernel may keep it. Every entry that reached the
/// kernel counts as one lookup, which `forget` gives back.
public struct FUSEEntry: Sendable {
    public var node: UInt64
    public var attributes: stat
    public var attributeTimeout: Double
    public var entryTimeout: Double

    public init(node: UInt64, attributes: stat, attributeTimeout: Double, entryTimeout: Double) {
        self.node = node
        self.attributes = attributes
        self.attributeTimeout = attributeTimeout
        self.entryTimeout = entryTimeout
    }
}

/// A file that the kernel reads and writes directly.
public struct BackingID: Hashable, Sendable {
    public let rawValue: Int32

    public init(rawValue: Int32) { self.rawValue = rawValue }
}

public struct FUSEOpenReply: Sendable {
    public var handle: UInt64
    /// Keep the pages of earlier opens. No effect with `backing`.
    public var keepCache: Bool
    /// No FLUSH on close, which saves a round trip.
    public var noFlush: Bool
    public var directIO: Bool
    /// For opendir: the kernel may keep the listing.
    public var cacheDirectory: Bool
    /// Not nil: passthrough.
    public var backing: BackingID?

    public init(
        handle: UInt64, keepCache: Bool = false, noFlush: Bool = false, directIO: Bool = false,
        cacheDirectory: Bool = false, backing: BackingID? = nil
    ) {
        self.handle = handle
        self.keepCache = keepCache
        self.noFlush = noFlush
        self.directIO = directIO
        self.cacheDirectory = cacheDirectory
        self.backing = backing
    }
}

/// The changes of a setattr; nil fields stay. All may be nil: with privileges dropped by us, the kernel sends such a
/// setattr before a write to a file that it takes for setuid, and uses only the returned attributes.
public struct FUSESetAttributes: Sendable {
    public enum Time: Sendable {
        case now
        case at(timespec)
    }

    public var mode: UInt32?
    public var uid: UInt32?
    public var gid: UInt32?
    public var size: Int64?
    public var atime: Time?
    public var mtime: Time?
    public var ctime: timespec?
    /// Drop setuid and setgid, with a new size or owner; see `FUSESession.Options.killPrivileges`.
    public var killPrivileges: Bool

    public init(
        mode: UInt32? = nil, uid: UInt32? = nil, gid: UInt32? = nil, size: Int64? = nil, atime: Time? = nil,
        mtime: Time? = nil, ctime: timespec? = nil, killPrivileges: Bool = false
    ) {
        self.mode = mode
        self.uid = uid
        self.gid = gid
        self.size = size
        self.atime = atime
        self.mtime = mtime
        self.ctime = ctime
        self.killPrivileges = killPrivileges
    }
}
