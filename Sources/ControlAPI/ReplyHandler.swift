import NIOCore

/// Takes the first message of a connection as the reply to its one request.
final class ReplyHandler: ChannelInboundHandler {
    typealias InboundIn = Frame

    private let reply: EventLoopPromise<ByteBuffer>

    init(_ reply: EventLoopPromise<ByteBuffer>) { self.reply = reply }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .message(let message):
            reply.succeed(message)
        case .tooLong(let length):
            fail("the daemon announced an answer of \(length) bytes, more than is allowed")
        case .truncated(let length):
            fail("the daemon hung up \(length) bytes into its answer; see its log")
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail("the daemon hung up without an answer: it stopped, or refuses requests of this user; see its log")
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Closing reads what has arrived, then fails the promise.
        context.close(promise: nil)
    }

    private func fail(_ message: String) {
        reply.fail(ControlError(.protocolError, message))
    }
}
