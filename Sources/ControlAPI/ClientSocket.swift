import Glibc

/// A socket that no child of this process inherits, because a claim lasts as long as its connection. (NIO's own sockets
/// stay open over exec.)
enum ClientSocket {
    /// How long to retry while the daemon's queue of connections is full.
    private static let patience = Duration.seconds(5)

    /// - Returns: a connected, non-blocking descriptor; the caller closes it.
    static func connect(_ path: String) async throws(ControlError) -> Int32 {
        let descriptor = make()
        guard descriptor >= 0 else { throw error(path, errno) }
        let deadline = ContinuousClock.now + patience
        while true {
            let code = connect(descriptor, path)
            if code == 0 { return descriptor }
            guard code == EAGAIN, .now < deadline, (try? await Task.sleep(for: .milliseconds(10))) != nil else {
                close(descriptor)
                throw Task.isCancelled ? ControlError(.cancelled, "the request was cancelled") : error(path, code)
            }
        }
    }

    /// Tries once. Nil: no daemon listens, or its queue is full.
    static func connectNow(_ path: String) -> Int32? {
        let descriptor = make()
        guard descriptor >= 0 else { return nil }
        if connect(descriptor, path) == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    private static func make() -> Int32 {
        socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    }

    /// - Returns: 0, or an errno.
    private static func connect(_ descriptor: Int32, _ path: String) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return ENAMETOOLONG }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return result == 0 ? 0 : errno
    }

    private static func error(_ path: String, _ code: Int32) -> ControlError {
        switch code {
        case ENOENT, ECONNREFUSED:
            ControlError(.notRunning, "no daemon answers at \(path): the domain is not mounted; mount it first")
        case EACCES, EPERM:
            ControlError(.refused, "you may not connect to \(path); run this as the user who mounted the domain")
        default: ControlError(.system, "cannot connect to \(path): \(describe(errno: code))")
        }
    }
}
