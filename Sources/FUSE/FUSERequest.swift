internal import CFUSE
internal import Glibc

/// One request of the kernel. Exactly one of the `reply` functions answers and consumes it, on any thread; dropping it
/// unanswered replies EIO, so that no process hangs because of a bug here.
///
/// A reply returns false when the kernel did not take it: the process was interrupted, or the mount is gone. The caller
/// must then undo its counts (lookups, handles).
///
/// `@unchecked Sendable`: libfuse takes replies from any thread, and there is one owner.
public struct FUSERequest: ~Copyable, @unchecked Sendable {
    let raw: fuse_req_t
    /// Retained: libfuse's session must outlive its last request, even one that is answered long after `run()` has
    /// returned. Unmanaged, because only then can a reply discard self.
    let connection: Unmanaged<FUSEConnection>

    init(_ raw: fuse_req_t, _ connection: FUSEConnection) {
        self.raw = raw
        self.connection = .passRetained(connection)
    }

    deinit {
        fuse_reply_err(raw, EIO)
        connection.release()
    }

    public var context: FUSEContext {
        let context = fuse_req_ctx(raw)!.pointee
        return FUSEContext(uid: context.uid, gid: context.gid, pid: context.pid, umask: context.umask)
    }

    /// Whether the requesting process was interrupted and waits for a quick reply.
    public var isInterrupted: Bool { fuse_req_interrupted(raw) != 0 }

    public borrowing func newDirectoryBuffer(size: Int, plus: Bool) -> FUSEDirectoryBuffer {
        FUSEDirectoryBuffer(size: size, plus: plus)
    }

    /// The only end besides `deinit`. `send` passes the request to libfuse, which frees it.
    consuming func finish(_ send: (fuse_req_t) -> Int32) -> Bool {
        let taken = send(raw) == 0
        connection.release()
        discard self
        return taken
    }
}
