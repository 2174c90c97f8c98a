internal import CFUSE
internal import Glibc

/// One question of the kernel. It is answered exactly once, on any thread, by one of the
/// `reply` functions, which use it up; one that is dropped unanswered answers EIO, so that
/// no process hangs on a mistake of ours.
///
/// A reply returns false when the kernel did not take it: the process was interrupted, or
/// the mount is gone. Whoever answered must then undo what it counted (lookups, handles).
///
/// `@unchecked Sendable`: libfuse takes replies from any thread, and there is one owner.
public struct FUSERequest: ~Copyable, @unchecked Sendable {
    let raw: fuse_req_t
    /// Retained: libfuse's session must outlive its last request, even one that is answered
    /// long after `run()` has returned. Unmanaged, because only then can a reply discard self.
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

    /// Whether the process that asks has been interrupted and wants an answer soon.
    public var isInterrupted: Bool { fuse_req_interrupted(raw) != 0 }

    public borrowing func newDirectoryBuffer(size: Int, plus: Bool) -> FUSEDirectoryBuffer {
        FUSEDirectoryBuffer(size: size, plus: plus)
    }

    /// The one way out besides `deinit`. `send` hands the request to libfuse, which frees it.
    consuming func finish(_ send: (fuse_req_t) -> Int32) -> Bool {
        let taken = send(raw) == 0
        connection.release()
        discard self
        return taken
    }
}
