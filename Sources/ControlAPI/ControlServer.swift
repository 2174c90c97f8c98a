public import Logging
import NIOCore
import NIOPosix

/// The daemon's end of the control socket: takes connections of the same user (or root) and hands their
/// requests to a ``ControlService``.
///
/// A faulty client harms its own connection only.
public actor ControlServer {
    private enum State {
        case idle
        case starting
        case running(any Channel, SocketClaim)
        case stopped
    }

    public nonisolated let socketPath: String
    private let service: any ControlService
    private let logger: Logger
    private let connections = ConnectionTable()
    private var state = State.idle

    public init(socketPath: String, service: any ControlService, logger: Logger) {
        self.socketPath = socketPath
        self.service = service
        self.logger = logger
    }

    /// Opens the socket (mode 0600) and takes connections from now on. A socket that a dead daemon left
    /// behind is replaced. May be called once.
    ///
    /// - Throws: ``ControlError/Code/refused`` when a live daemon has the socket, or its name is taken by something
    ///   that is
    ///   not a socket; ``ControlError/Code/system`` when the socket cannot be made.
    public func start() async throws(ControlError) {
        guard case .idle = state else {
            throw ControlError(.system, "this control server was started before; make another")
        }
        state = .starting
        do {
            let claim = try await claim()
            let channel = try await listen(claim)
            guard case .starting = state else {
                // Stopped meanwhile.
                try? await channel.close()
                await release(claim)
                return
            }
            state = .running(channel, claim)
        } catch {
            if case .starting = state { state = .idle }
            throw error
        }
    }

    /// Closes the socket and every connection, cancels the requests that are being served (without
    /// waiting for them) and removes the socket's file.
    public func stop() async {
        let before = state
        state = .stopped
        guard case .running(let channel, let claim) = before else { return }
        try? await channel.close()
        await connections.closeAll()
        await release(claim)
    }

    /// Runs on a thread that may block, because the disk may be slow.
    private func claim() async throws(ControlError) -> SocketClaim {
        let result: Result<SocketClaim, ControlError>
        do {
            result = try await NIOThreadPool.singleton.runIfActive { [socketPath] in
                do throws(ControlError) {
                    return .success(try SocketClaim.take(socketPath))
                } catch {
                    return .failure(error)
                }
            }
        } catch {
            throw ControlError(.system, "cannot open the control socket: \(error)")
        }
        return try result.get()
    }

    private func release(_ claim: SocketClaim) async {
        try? await NIOThreadPool.singleton.runIfActive { claim.release() }
    }

    private func listen(_ claim: SocketClaim) async throws(ControlError) -> any Channel {
        let (service, logger, connections) = (service, logger, connections)
        let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            // A client that closes its side in mid-message can still read the failure.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                Self.welcome(channel, service, connections, logger)
            }
        do {
            return try await bootstrap.withBoundSocket(claim.socket).get()
        } catch {
            await release(claim)
            throw ControlError(.system, "cannot listen on \(socketPath): \(error)")
        }
    }

    private static func welcome(
        _ channel: any Channel, _ service: any ControlService, _ connections: ConnectionTable,
        _ logger: Logger
    ) -> EventLoopFuture<Void> {
        PeerCheck.peer(of: channel).flatMap { peer in
            if let problem = peer.problem {
                logger.warning("refused a control connection", metadata: ["peer": "\(problem)"])
                return channel.close()
            }
            guard connections.add(channel) else { return channel.close() }
            return channel.eventLoop.makeCompletedFuture {
                let decoder = FrameDecoder(limit: ControlLimits.requestBytes)
                try channel.pipeline.syncOperations.addHandlers(
                    ByteToMessageHandler(decoder),
                    ControlConnection(service: service, peer: peer.process, logger: logger))
            }
        }
    }
}
