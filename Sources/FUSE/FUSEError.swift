internal import Glibc

/// What went wrong with a mount, where, and what the reader can do about it.
public struct FUSEError: Error, Sendable, CustomStringConvertible {
    public let mountPoint: String
    /// 0 when no system call is to blame.
    public let errno: Int32
    public let message: String

    init(_ mountPoint: String, errno: Int32 = 0, _ message: String) {
        self.mountPoint = mountPoint
        self.errno = errno
        self.message = message
    }

    public var description: String { "\(mountPoint): \(message)" }

    /// "No such file or directory" and the like.
    static func text(of errno: Int32) -> String { String(cString: strerror(errno)) }
}
