internal import Glibc

/// A failure of a mount, with its mount point and the remedy.
public struct FUSEError: Error, Sendable, CustomStringConvertible {
    public let mountPoint: String
    /// 0 unless a system call failed.
    public let errno: Int32
    public let message: String

    init(_ mountPoint: String, errno: Int32 = 0, _ message: String) {
        self.mountPoint = mountPoint
        self.errno = errno
        self.message = message
    }

    public var description: String { "\(mountPoint): \(message)" }

    /// "No such file or directory" and so on.
    static func text(of errno: Int32) -> String { String(cString: strerror(errno)) }
}
