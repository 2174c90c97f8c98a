internal import CFUSE

extension FUSESession {
    /// Whether an open may be answered with a backing id: known once the kernel has said hello
    /// (before the first request), and false again when it has denied us one (EPERM).
    public var passthroughAvailable: Bool { connection.passthroughAvailable }

    /// Whether each registration is a round trip to another process (`Options.passthroughHelper`).
    public var passthroughNeedsHelper: Bool { connection.passthrough.needsHelper }

    /// Registers a file for passthrough. The descriptor may be closed afterwards; the id must
    /// be given back with `closeBacking` (files that are open keep what they need).
    public func openBacking(fileDescriptor: Int32) throws(FUSEError) -> BackingID {
        let result = connection.openBacking(fileDescriptor)
        if result > 0 { return BackingID(rawValue: result) }
        let errno = -result
        let advice =
            switch errno {
            case EPERM: "passthrough needs CAP_SYS_ADMIN; files are served by copying instead"
            case ELOOP: "the content store lies on a stacked file system (overlayfs?), which cannot be passed through"
            default: "the kernel did not take the file for passthrough: \(FUSEError.text(of: errno))"
            }
        throw FUSEError(mountPoint, errno: errno, advice)
    }

    public func closeBacking(_ id: BackingID) { connection.closeBacking(id.rawValue) }
}
