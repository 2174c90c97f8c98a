import NIOCore
import NIOPosix

/// The client's end of the control socket.
public struct ControlClient: Sendable {
    public let socketPath: String

    public init(socketPath: String) { self.socketPath = socketPath }

    /// Sends one request over a connection of its own and waits for the answer.
    ///
    /// - Parameter seconds: the time limit of the exchange; nil: none. When the limit is reached, or this task is
    ///   cancelled,
    ///   the daemon's work on the request is cancelled too.
    /// - Returns: the daemon's answer, which may be a ``ControlResponse/failure(_:)``.
    /// - Throws: ``ControlError/Code/notRunning`` when no daemon listens,
    ///   ``ControlError/Code/timedOut``, ``ControlError/Code/cancelled``,
    ///   ``ControlError/Code/refused`` when we may not connect, ``ControlError/Code/protocolError`` when
    ///   the request is too large, the answer is malformed, or the daemon hangs up before it.
    public func send(
        _ request: ControlRequest, timeout seconds: Double?
    ) async throws(ControlError) -> ControlResponse {
        let frame = try requestFrame(request)
        let reply = try await exchange(frame, timeout: seconds)
        return try response(reply)
    }

    func response(_ reply: ByteBuffer) throws(ControlError) -> ControlResponse {
        do {
            return try ControlCoding.decode(ControlResponse.self, from: reply)
        } catch {
            throw ControlError(
                .protocolError,
                "the daemon's answer is malformed, perhaps of another release; unmount and mount again (\(error))")
        }
    }

    func requestFrame(_ request: ControlRequest) throws(ControlError) -> ByteBuffer {
        let json: [UInt8]
        do {
            json = Array(try ControlCoding.encode(request))
        } catch {
            throw ControlError(.protocolError, "the request cannot be sent: \(error)")
        }
        guard json.count <= ControlLimits.requestBytes else {
            throw ControlError(.protocolError, "the request has too many paths; give fewer at a time")
        }
        return Frame.encode(json)
    }

    /// Answer, hang-up, timeout and cancellation each complete the promise of the reply; the first wins (NIO ignores
    /// the others).
    private func exchange(_ frame: ByteBuffer, timeout: Double?) async throws(ControlError) -> ByteBuffer {
        let socket = try await ClientSocket.connect(socketPath)
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let reply = loop.makePromise(of: ByteBuffer.self)
        if let timeout {
            let late = ControlError(
                .timedOut, "the daemon did not answer within \(timeout) s; it still works, so ask again")
            let nanoseconds = Int64(max(0, min(timeout, 1e9)) * 1e9)
            let timer = loop.scheduleTask(in: .nanoseconds(nanoseconds)) { reply.fail(late) }
            reply.futureResult.whenComplete { _ in timer.cancel() }
        }
        ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let decoder = FrameDecoder(limit: ControlLimits.responseBytes)
                    try channel.pipeline.syncOperations.addHandlers(
                        ByteToMessageHandler(decoder), ReplyHandler(reply))
                }
            }
            .withConnectedSocket(socket)
            .whenComplete { result in
                switch result {
                case .success(let channel):
                    // If the write fails, the daemon has hung up; read its last message first.
                    channel.writeAndFlush(frame, promise: nil)
                    reply.futureResult.whenComplete { _ in channel.close(promise: nil) }
                case .failure(let error):
                    reply.fail(ControlError(.system, "the control socket failed: \(error)"))
                }
            }
        do {
            return try await withTaskCancellationHandler {
                try await reply.futureResult.get()
            } onCancel: {
                reply.fail(ControlError(.cancelled, "the request was cancelled"))
            }
        } catch {
            throw error as? ControlError ?? ControlError(.system, "the control socket failed: \(error)")
        }
    }
}
