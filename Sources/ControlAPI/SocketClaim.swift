import Glibc

/// One daemon's hold on a socket path: a bound socket, mode 0600, beside a lock file that says the daemon
/// lives.
///
/// The lock (flock(2), let go by the kernel when the daemon dies) decides between two daemons that start
/// at once; a look at the socket alone leaves a gap in which both think it stale.
/// The lock file stays behind: unlinking it would open that gap again.
struct SocketClaim {
    let socketPath: String
    private let lock: CInt
    /// Bound, not yet listening.
    let socket: CInt

    /// Takes the path over from a dead daemon, or throws ``ControlError/Code/refused`` when a live one
    /// has it. Makes system calls that may block for the length of a disk access.
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

    /// Removes the socket's file and lets the lock go; ``socket`` itself is closed by whoever listens on it.
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

    /// Unlinks the socket that a dead daemon left; never anything else that has the name.
    private static func removeStale(_ socketPath: String) throws(ControlError) {
        guard let info = lstatOf(socketPath) else { return }
        guard info.isSocket else {
            throw ControlError(
                .refused, "\(socketPath) is there and is not a socket. Remove it, and try again.")
        }
        // Somebody may listen without our lock.
        guard try !isAnswered(socketPath) else { throw taken(socketPath) }
        guard unlink(socketPath) == 0 || errno == ENOENT else {
            throw systemError("remove the old socket \(socketPath)")
        }
    }

    private static func isAnswered(_ socketPath: String) throws(ControlError) -> Bool {
        let probe = try newSocket()
        defer { close(probe) }
        // Non-blocking: EAGAIN is a full queue of a live listener.
        let result = withAddress(of: socketPath) { connect(probe, $0, $1) }
        return result == 0 || errno == EAGAIN || errno == EINPROGRESS
    }

    /// chmod before anyone can listen: until then a connect is refused whatever the umask allowed.
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
        // The length was checked, and the rest is zero, which ends the string.
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
            "A daemon already serves \(socketPath): the domain is mounted. Unmount it first, or use that one."
        )
    }

    private static func systemError(_ what: String, _ code: CInt = errno) -> ControlError {
        ControlError(.system, "Cannot \(what): \(describe(errno: code)).")
    }
}
