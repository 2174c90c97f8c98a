import Glibc

/// A connection that no child of this process inherits: a claim lasts as long as its connection. (NIO's own sockets stay open
/// over exec.)
enum ClientSocket {
    /// How long a daemon that has more to do than it can take is asked again.
    private static let patience = Duration.seconds(5)

    /// - Returns: connected, not blocking; the caller's to close.
    static func connect(_ path: String) async throws(ControlError) -> Int32 {
        let descriptor = make()
        guard descriptor >= 0 else { throw error(path, errno) }
        let deadline = ContinuousClock.now + patience
        while true {
            let code = connect(descriptor, path)
            if code == 0 { return descriptor }
            guard code == EAGAIN, .now < deadline, (try? await Task.sleep(for: .milliseconds(10))) != nil else {
                close(descriptor)
                throw Task.isCancelled ? ControlError(.cancelled, "The request was cancelled.") : error(path, code)
            }
        }
    }

    /// Tried once; nil: nobody listens, or he has too much to do.
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

    /// - Returns: an errno; 0: it is connected.
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
            ControlError(.notRunning, "No daemon answers at \(path): the domain is not mounted. Mount it first.")
        case EACCES, EPERM:
            ControlError(.refused, "You may not connect to \(path): run this as the user who mounted it.")
        default: ControlError(.system, "Cannot connect to \(path): \(describe(errno: code)).")
        }
    }
}
