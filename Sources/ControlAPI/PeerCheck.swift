import Glibc
import NIOCore

/// Asks the kernel which process is at the other end of a Unix socket.
enum PeerCheck {
    /// `struct ucred` of unix(7), which Glibc's module leaves out.
    private struct Credentials: Sendable {
        var pid: pid_t = 0
        var uid: uid_t = 0
        var gid: gid_t = 0
    }

    struct Peer: Sendable {
        var process: PeerProcess
        /// Why the peer's requests are refused, for the log: it runs neither as our user nor as root.
        var problem: String?
    }

    static func peer(of channel: any Channel) -> EventLoopFuture<Peer> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeSucceededFuture(
                Peer(process: PeerProcess(pid: 0, handle: -1), problem: "the channel is not a socket"))
        }
        let credentials: EventLoopFuture<Credentials> = provider.unsafeGetSocketOption(
            level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
        return credentials.flatMap { peer in
            let isAllowed = peer.uid == geteuid() || peer.uid == 0
            return handle(of: provider, channel.eventLoop).map { handle in
                Peer(
                    process: PeerProcess(pid: peer.pid, handle: handle),
                    problem: isAllowed ? nil : "process \(peer.pid) of user \(peer.uid)")
            }
        }
    }

    /// A pidfd of the peer; -1: the kernel gives none.
    private static func handle(of socket: any SocketOptionProvider, _ loop: any EventLoop) -> EventLoopFuture<Int32> {
        let peerHandle = NIOBSDSocket.Option(rawValue: 77)  // SO_PEERPIDFD
        let handle: EventLoopFuture<Int32> = socket.unsafeGetSocketOption(level: .socket, name: peerHandle)
        return handle.flatMapErrorThrowing { _ in -1 }
    }
}
