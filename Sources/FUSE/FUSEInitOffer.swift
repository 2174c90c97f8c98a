/// The kernel's offer in its INIT request.
struct FUSEInitOffer: Equatable, Sendable {
    static let extended: UInt64 = 1 << 30
    static let writebackCache: UInt64 = 1 << 16
    static let parallelDirectories: UInt64 = 1 << 18
    static let killPrivileges: UInt64 = 1 << 28
    static let passthrough: UInt64 = 1 << 37
    static let directIOMapping: UInt64 = 1 << 36
    static let overRing: UInt64 = 1 << 41

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

    /// The kernel has it (Linux 6.14), and the administrator allows it (/sys/module/fuse/parameters/enable_uring).
    var offersRing: Bool { flags & Self.extended != 0 && flags & Self.overRing != 0 }

    var offersPassthrough: Bool { minor >= 40 && flags & Self.extended != 0 && flags & Self.passthrough != 0 }

    // libfuse 3.14 does not know these flags; we change its reply to INIT on the way to the kernel. False when the
    // reply must go unchanged.
    //
    // out_header: len@0 error@4 unique@8. init_out: major@16 minor@20 flags@28 max_write@36 max_pages@44 flags2@48
    // max_stack_depth@52.

    /// PARALLEL_DIROPS: libfuse 3.14 accepts the request for it but does not pass it on. Without it look-ups and
    /// listings in a folder wait for one another in the kernel, unkillably.
    func requestParallelDirectories(in reply: UnsafeMutableRawBufferPointer) {
        guard flags & Self.parallelDirectories != 0, isAnswered(by: reply) else { return }
        reply.set(UInt32(Self.parallelDirectories), at: 28)
    }

    /// HANDLE_KILLPRIV_V2: see `FUSESession.Options.killPrivileges`.
    func requestKillPrivileges(in reply: UnsafeMutableRawBufferPointer) -> Bool {
        guard flags & Self.killPrivileges != 0, isAnswered(by: reply) else { return false }
        reply.set(UInt32(Self.killPrivileges), at: 28)
        return true
    }

    /// DIRECT_IO_ALLOW_MMAP: see `FUSESession.Options.mapsDirectIO`.
    func requestDirectIOMapping(in reply: UnsafeMutableRawBufferPointer) {
        guard flags & Self.extended != 0, flags & Self.directIOMapping != 0, isAnswered(by: reply) else { return }
        reply.set(UInt32(Self.extended), at: 28)
        reply.set(UInt32(Self.directIOMapping >> 32), at: 48)
    }

    func requestPassthrough(in reply: UnsafeMutableRawBufferPointer) -> Bool {
        guard offersPassthrough, isAnswered(by: reply), UInt64(reply.word(28)) & Self.writebackCache == 0
        else { return false }
        reply.storeBytes(of: max(reply.word(20), 40), toByteOffset: 20, as: UInt32.self)
        reply.set(UInt32(Self.extended), at: 28)
        reply.set(UInt32(Self.passthrough >> 32), at: 48)
        // The backing files must not be on a stacked file system themselves (overlayfs).
        reply.storeBytes(of: 1, toByteOffset: 52, as: UInt32.self)
        return true
    }

    /// OVER_IO_URING: see ``FUSERing``.
    func requestRing(in reply: UnsafeMutableRawBufferPointer) {
        reply.set(UInt32(Self.extended), at: 28)
        reply.set(UInt32(Self.overRing >> 32), at: 48)
    }

    /// The bytes that an entry of the ring must have room for: what one request or answer may carry. Nil: not accepted.
    func payloadSize(in reply: UnsafeMutableRawBufferPointer) -> Int? {
        guard isAnswered(by: reply) else { return nil }
        let pages = Int(reply.loadUnaligned(fromByteOffset: 44, as: UInt16.self))
        // At most 256 MiB: 65,535 pages.
        return max(1 << 20, Int(min(reply.word(36), 1 << 28)), pages * 4096)
    }

    private func isAnswered(by reply: UnsafeMutableRawBufferPointer) -> Bool {
        reply.count >= 56 && reply.word(4) == 0 && reply.word(16) == 7
            && reply.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == unique
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate func word(_ offset: Int) -> UInt32 { loadUnaligned(fromByteOffset: offset, as: UInt32.self) }

    fileprivate func set(_ flags: UInt32, at offset: Int) {
        storeBytes(of: word(offset) | flags, toByteOffset: offset, as: UInt32.self)
    }
}
