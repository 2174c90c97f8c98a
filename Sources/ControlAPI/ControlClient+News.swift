import NIOCore
import NIOPosix

/// Requests with news before the answer.
extension ControlClient {
    /// Sends a request, passes the daemon's news to `onNews`, and returns the answer.
    ///
    /// The next message is read when `onNews` has returned, so a slow `onNews` makes the daemon wait, and this process does
    /// not grow. If this task is cancelled, or `onNews` throws, the connection closes, which ends the daemon's work on
    /// the request.
    ///
    /// - Throws: as ``send(_:timeout:)``, and the errors of `onNews`.
    public func follow(
        _ request: ControlRequest, onNews: (ControlNews) async throws -> Void
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
            // If the write fails, the daemon has hung up; read its last message first.
            try? await outbound.write(frame)
            var messages = inbound.makeAsyncIterator()
            var hasSpoken = false
            while let frame = try await next(&messages) {
                switch frame {
                case .message(let message):
                    guard case .news(let news) = try response(message) else { return try response(message) }
                    hasSpoken = true
                    try await onNews(news)
                case .tooLong(let length):
                    throw ControlError(
                        .protocolError, "the daemon announced an answer of \(length) bytes, more than is allowed")
                case .truncated(let length):
                    throw ControlError(
                        .protocolError, "the daemon hung up \(length) bytes into its answer; see its log")
                }
            }
            if Task.isCancelled { throw ControlError(.cancelled, "the request was cancelled") }
            throw ControlError(
                .protocolError,
                hasSpoken
                    ? "the daemon has ended"
                    : "the daemon has ended, or refuses requests of this user; see its log")
        }
    }

    /// The next message; nil when the connection is closed or broken.
    private func next(_ messages: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator) async throws -> Frame? {
        do { return try await messages.next() } catch {
            if Task.isCancelled { throw ControlError(.cancelled, "the request was cancelled") }
            return nil
        }
    }
}
