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

    struct Peer: Sendable {
        var pid: Int32
        /// Why it may not give orders: it runs neither as our user nor as root. For the log.
        var problem: String?
    }

    static func peer(of channel: any Channel) -> EventLoopFuture<Peer> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeSucceededFuture(Peer(pid: 0, problem: "the channel is no socket"))
        }
        let credentials: EventLoopFuture<Credentials> = provider.unsafeGetSocketOption(
            level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
        return credentials.map { peer in
            let isAllowed = peer.uid == geteuid() || peer.uid == 0
            return Peer(pid: peer.pid, problem: isAllowed ? nil : "process \(peer.pid) of user \(peer.uid)")
        }
    }
}
