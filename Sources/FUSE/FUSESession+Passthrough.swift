internal import CFUSE

/// What the kernel offered in its INIT.
struct FUSEInitOffer: Equatable, Sendable {
    static let extended: UInt64 = 1 << 30
    static let writebackCache: UInt64 = 1 << 16
    static let passthrough: UInt64 = 1 << 37

    var unique: UInt64
    var minor: UInt32
    /// The second word of flags above the first.
    var flags: UInt64

    init(unique: UInt64, minor: UInt32, flags: UInt64) {
        self.unique = unique
        self.minor = minor
        self.flags = flags
    }

    /// Nil unless `request` is an INIT: a 40 byte header (opcode at 4, unique at 8), then
    /// major, minor, max_readahead, flags, flags2.
    init?(request: UnsafeRawBufferPointer) {
        guard request.count >= 56, request.loadUnaligned(fromByteOffset: 4, as: UInt32.self) == 26 else { return nil }
        func word(_ offset: Int) -> UInt32 { request.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
        unique = request.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        minor = word(44)
        flags = UInt64(word(52))
        if flags & Self.extended != 0, request.count >= 60 { flags |= UInt64(word(56)) << 32 }
    }

    var offersPassthrough: Bool { minor >= 40 && flags & Self.extended != 0 && flags & Self.passthrough != 0 }

    /// libfuse 3.14 knows nothing of passthrough; its answer to INIT is changed on the way to
    /// the kernel. False when the answer must go as it is.
    func requestPassthrough(in reply: UnsafeMutableRawBufferPointer) -> Bool {
        // out_header: len@0 error@4 unique@8. init_out: major@16 minor@20 flags@28 flags2@48
        // max_stack_depth@52.
        func load(_ offset: Int) -> UInt32 { reply.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
        func store(_ value: UInt32, _ offset: Int) {
            reply.storeBytes(of: value, toByteOffset: offset, as: UInt32.self)
        }

        guard offersPassthrough, reply.count >= 56, load(4) == 0, load(16) == 7,
            reply.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == unique,
            UInt64(load(28)) & Self.writebackCache == 0
        else { return false }
        store(max(load(20), 40), 20)
        store(load(28) | UInt32(Self.extended), 28)
        store(load(48) | UInt32(Self.passthrough >> 32), 48)
        // The files below must not lie on a stacked file system themselves (overlayfs).
        store(1, 52)
        return true
    }
}

extension FUSESession {
    /// Whether an open may be answered with a backing id: known once the kernel has said hello
    /// (before the first request), and false again when it has denied us one (EPERM).
    public var passthroughAvailable: Bool { connection.passthroughAvailable }

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
