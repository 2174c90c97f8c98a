internal import CFUSE

extension FUSESession {
    /// Whether an open may be answered with a backing id: known after the kernel's INIT (before the first request), and
    /// false again after the kernel has refused one (EPERM).
    public var passthroughAvailable: Bool { connection.passthroughAvailable }

    /// Whether each registration is a round trip to another process (`Options.passthroughHelper`).
    public var passthroughNeedsHelper: Bool { connection.passthrough.needsHelper }

    /// Registers a file for passthrough. The descriptor may be closed afterwards; release the id with `closeBacking`
    /// (open files keep what they need).
    public func openBacking(fileDescriptor: Int32) throws(FUSEError) -> BackingID {
        let result = connection.openBacking(fileDescriptor)
        if result > 0 { return BackingID(rawValue: result) }
        let errno = -result
        let advice =
            switch errno {
            case EPERM: "passthrough needs CAP_SYS_ADMIN; files are served by copying instead"
            case ELOOP: "the content store is on a stacked file system (overlayfs?), which does not allow passthrough"
            default: "the kernel refused the file for passthrough: \(FUSEError.text(of: errno))"
            }
        throw FUSEError(mountPoint, errno: errno, advice)
    }

    public func closeBacking(_ id: BackingID) { connection.closeBacking(id.rawValue) }
}
