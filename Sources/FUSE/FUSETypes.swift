internal import CFUSE
public import Glibc

/// Of a file's flags, what Glibc's module leaves out.
public enum FUSEFileFlags {
    /// O_DIRECT
    public static let direct = Int32(HYDRANT_O_DIRECT)
}

/// Who asks. `umask` is only known for mkdir, mknod and create.
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

/// A name's answer: which node it is, and for how many seconds the kernel may believe it.
/// Every entry that reached the kernel counts as one lookup, to be taken back by `forget`.
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

/// A file that the kernel reads and writes without us.
public struct BackingID: Hashable, Sendable {
    public let rawValue: Int32

    public init(rawValue: Int32) { self.rawValue = rawValue }
}

public struct FUSEOpenReply: Sendable {
    public var handle: UInt64
    /// Keep the pages from earlier opens. Has no meaning with `backing`.
    public var keepCache: Bool
    /// No FLUSH on close, a round trip saved.
    public var noFlush: Bool
    public var directIO: Bool
    /// For opendir: the kernel may keep the listing.
    public var cacheDirectory: Bool
    /// Set: passthrough.
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

/// What a setattr asks for; what is nil stays. All may be nil: before a write to what it takes for setuid the
/// kernel sends such a one when it leaves the dropping to us, and wants the attributes only.
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
    /// Setuid and setgid are to be dropped, with a new size or owner; see `FUSESession.Options.killPrivileges`.
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
