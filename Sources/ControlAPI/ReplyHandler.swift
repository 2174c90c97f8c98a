import NIOCore

/// Takes the first message of a connection as the reply to the one request that was sent over it.
final class ReplyHandler: ChannelInboundHandler {
    typealias InboundIn = Frame

    private let reply: EventLoopPromise<ByteBuffer>

    init(_ reply: EventLoopPromise<ByteBuffer>) { self.reply = reply }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .message(let message):
            reply.succeed(message)
        case .tooLong(let length):
            fail("The daemon announced an answer of \(length) bytes, more than is allowed.")
        case .truncated(let length):
            fail("The daemon hung up \(length) bytes into its answer. See its log.")
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail("The daemon hung up without an answer: it stopped, or takes no orders from this user. See its log.")
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Before the promise is broken, whatever came in is read: the hang-up follows at once.
        context.close(promise: nil)
    }

    private func fail(_ message: String) {
        reply.fail(ControlError(.protocolError, message))
    }
}
