import Glibc
import NIOCore

/// Who is at the other end of a Unix socket, asked of the kernel.
enum PeerCheck {
    /// `struct ucred` of unix(7), which Glibc's module leaves out.
    private struct Credentials: Sendable {
        var pid: pid_t = 0
        var uid: uid_t = 0
        var gid: gid_t = 0
    }

    /// Nil when the peer may give orders: it runs as our user, or as root. Else who it is, for the log.
    static func problem(of channel: any Channel) -> EventLoopFuture<String?> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeSucceededFuture("the channel is no socket")
        }
        let credentials: EventLoopFuture<Credentials> = provider.unsafeGetSocketOption(
            level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
        return credentials.map { peer -> String? in
            if peer.uid == geteuid() || peer.uid == 0 { return nil }
            return "process \(peer.pid) of user \(peer.uid)"
        }
    }
}
