import Glibc

/// One daemon's claim on a socket path: a bound socket, mode 0600, and a locked file beside it.
///
/// The lock (flock(2), which the kernel releases when the daemon dies) decides between two daemons that start at once;
/// by the socket alone both could take it for stale. The lock file is never unlinked, which would open that gap again.
struct SocketClaim {
    let socketPath: String
    private let lock: CInt
    /// Bound, not yet listening.
    let socket: CInt

    /// Takes the path over from a dead daemon, or throws ``ControlError/Code/refused`` when a live one
    /// has it. Makes system calls that may block on the disk.
    static func take(_ socketPath: String) throws(ControlError) -> SocketClaim {
        try SocketDirectory.checkLength(socketPath)
        let lock = try takeLock(socketPath + ".lock", for: socketPath)
        do {
            try removeStale(socketPath)
            return SocketClaim(socketPath: socketPath, lock: lock, socket: try bindPrivately(socketPath))
        } catch {
            close(lock)
            throw error
        }
    }

    /// Removes the socket's file and releases the lock; the listener closes ``socket`` itself.
    func release() {
        unlink(socketPath)
        close(lock)
    }

    private static func takeLock(_ path: String, for socketPath: String) throws(ControlError) -> CInt {
        let lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw systemError("open the lock file \(path)") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(lock)
            guard code == EWOULDBLOCK else { throw systemError("lock \(path)", code) }
            throw taken(socketPath)
        }
        return lock
    }

    /// Unlinks the socket that a dead daemon left; never any other kind of file.
    private static func removeStale(_ socketPath: String) throws(ControlError) {
        guard let info = lstatOf(socketPath) else { return }
        guard info.isSocket else {
            throw ControlError(
                .refused, "\(socketPath): not a socket; remove it, and try again")
        }
        // A program may listen without our lock.
        guard try !isAnswered(socketPath) else { throw taken(socketPath) }
        guard unlink(socketPath) == 0 || errno == ENOENT else {
            throw systemError("remove the old socket \(socketPath)")
        }
    }

    private static func isAnswered(_ socketPath: String) throws(ControlError) -> Bool {
        let probe = try newSocket()
        defer { close(probe) }
        // EAGAIN of a non-blocking socket: a live listener's queue is full.
        let result = withAddress(of: socketPath) { connect(probe, $0, $1) }
        return result == 0 || errno == EAGAIN || errno == EINPROGRESS
    }

    /// Sets the mode before anybody listens: until then a connect is refused, whatever the umask allowed.
    private static func bindPrivately(_ socketPath: String) throws(ControlError) -> CInt {
        let socket = try newSocket()
        guard withAddress(of: socketPath, { bind(socket, $0, $1) }) == 0 else {
            let code = errno
            close(socket)
            throw systemError("bind the socket \(socketPath)", code)
        }
        guard chmod(socketPath, 0o600) == 0 else {
            let code = errno
            unlink(socketPath)
            close(socket)
            throw systemError("set the mode of the socket \(socketPath)", code)
        }
        return socket
    }

    private static func newSocket() throws(ControlError) -> CInt {
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = Glibc.socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw systemError("make a socket") }
        return descriptor
    }

    private static func withAddress(
        of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // The length was checked, and the rest is zero, which terminates the string.
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private static func taken(_ socketPath: String) -> ControlError {
        ControlError(
            .refused,
            "\(socketPath): a daemon serves it already: the domain is mounted; unmount it first, or use that mount"
        )
    }

    private static func systemError(_ what: String, _ code: CInt = errno) -> ControlError {
        ControlError(.system, "cannot \(what): \(describe(errno: code))")
    }
}
