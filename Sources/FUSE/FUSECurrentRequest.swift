internal import CFUSE
internal import Glibc

/// Flags of a request that libfuse does not pass on, for the request that this thread has read and is processing
/// (libfuse processes a request on the thread that read it).
///
/// Stored per thread, not per request: libfuse has no accessor for the request's number, and a thread's slot needs no
/// lock. Only requests that may have the flags fill it; a read costs one comparison.
enum FUSECurrentRequest {
    private static let slot: pthread_key_t = {
        var key = pthread_key_t()
        precondition(pthread_key_create(&key, nil) == 0, "no thread-specific storage left")
        return key
    }()

    /// Called with each request, before libfuse sees it: some versions mask `valid` in place.
    static func note(_ request: UnsafeRawBufferPointer) {
        guard let asks = asksToKillPrivileges(request) else { return }
        pthread_setspecific(slot, UnsafeRawPointer(bitPattern: asks ? 1 : 0))
    }

    /// Only for write, open, create and setattr.
    static var killsPrivileges: Bool { pthread_getspecific(slot) != nil }

    /// Nil for other operations. `request`: header (40 bytes, opcode at 4), then the operation's struct of
    /// linux/fuse.h.
    static func asksToKillPrivileges(_ request: UnsafeRawBufferPointer) -> Bool? {
        let header = MemoryLayout<fuse_in_header>.size
        guard request.count >= header else { return nil }
        func has(_ bit: Int32, at offset: Int) -> Bool {
            guard request.count >= header + offset + 4 else { return false }
            return request.loadUnaligned(fromByteOffset: header + offset, as: UInt32.self) & UInt32(bit) != 0
        }
        return switch fuse_opcode(request.loadUnaligned(fromByteOffset: 4, as: UInt32.self)) {
        case FUSE_WRITE: has(FUSE_WRITE_KILL_SUIDGID, at: 20)  // fuse_write_in.write_flags
        case FUSE_OPEN: has(FUSE_OPEN_KILL_SUIDGID, at: 4)  // fuse_open_in.open_flags
        case FUSE_CREATE: has(FUSE_OPEN_KILL_SUIDGID, at: 12)  // fuse_create_in.open_flags
        case FUSE_SETATTR: has(FATTR_KILL_SUIDGID, at: 0)  // fuse_setattr_in.valid
        default: nil
        }
    }
}
