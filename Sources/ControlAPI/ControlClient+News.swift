import NIOCore
import NIOPosix

/// Requests that are answered bit by bit.
extension ControlClient {
    /// Sends a request, hands on what the daemon says before its answer, and returns the answer.
    ///
    /// The next message is taken when `told` has returned, so a slow `told` makes the daemon wait, not this process
    /// grow. When this task is cancelled, or `told` throws, the connection is closed, and with it the daemon's work on
    /// the request ends.
    ///
    /// - Throws: as ``send(_:timeout:)``, and what `told` throws.
    public func follow(
        _ request: ControlRequest, told: (ControlNews) async throws -> Void
    ) async throws -> ControlResponse {
        let frame = try requestFrame(request)
        let socket = try await ClientSocket.connect(socketPath)
        let channel: NIOAsyncChannel<Frame, ByteBuffer> = try await ClientBootstrap(
            group: MultiThreadedEventLoopGroup.singleton
        ).withConnectedSocket(socket) { channel in
            channel.eventLoop.makeCompletedFuture {
                let decoder = FrameDecoder(limit: ControlLimits.responseBytes)
                try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(decoder))
                return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
            }
        }
        return try await channel.executeThenClose { inbound, outbound in
            // A failed write is followed by a hang-up, after what the daemon had to say.
            try? await outbound.write(frame)
            var messages = inbound.makeAsyncIterator()
            var hasSpoken = false
            while let frame = try await next(&messages) {
                switch frame {
                case .message(let message):
                    guard case .news(let news) = try response(message) else { return try response(message) }
                    hasSpoken = true
                    try await told(news)
                case .tooLong(let length):
                    throw ControlError(
                        .protocolError, "The daemon announced an answer of \(length) bytes, more than is allowed.")
                case .truncated(let length):
                    throw ControlError(
                        .protocolError, "The daemon hung up \(length) bytes into its answer. See its log.")
                }
            }
            if Task.isCancelled { throw ControlError(.cancelled, "The request was cancelled.") }
            throw ControlError(
                .protocolError,
                hasSpoken
                    ? "The daemon has ended."
                    : "The daemon has ended, or takes no orders from this user. See its log.")
        }
    }

    /// Nil when the daemon has hung up, in whatever way.
    private func next(_ messages: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator) async throws -> Frame? {
        do { return try await messages.next() } catch {
            if Task.isCancelled { throw ControlError(.cancelled, "The request was cancelled.") }
            return nil
        }
    }
}
