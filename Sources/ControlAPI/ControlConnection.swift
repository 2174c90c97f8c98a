import Logging
import NIOCore

/// One client's connection: answers its requests one after another.
///
/// Runs on the connection's event loop; only decoding, the service and encoding run elsewhere, in a task that is
/// cancelled when the client hangs up. Reading goes on while a request is being served, so the number of waiting
/// requests is limited.
final class ControlConnection: ChannelInboundHandler {
    typealias InboundIn = Frame
    typealias OutboundOut = ByteBuffer

    private let service: any ControlService
    private let logger: Logger
    private let peer: PeerProcess
    private enum State {
        case idle
        /// The service works on a request.
        case serving(Task<Void, Never>)
        /// An answer is being written. The next request waits for it, so that a client that does not
        /// read costs the memory of one answer.
        case answering
        case closing
    }
    private var state = State.idle
    private var waiting: [ByteBuffer] = []
    /// News was sent for this request, whose answer may never come.
    private var hasSentNews = false
    /// The failure to send when the earlier requests are answered; then the connection is closed.
    private var lastWords: ControlFailure?

    init(service: any ControlService, peer: PeerProcess, logger: Logger) {
        self.service = service
        self.peer = peer
        self.logger = logger
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard lastWords == nil else { return }
        switch unwrapInboundIn(data) {
        case .message(let message):
            guard waiting.count < ControlLimits.requestsAhead else {
                fail(ControlFailure.tooManyRequests, "too many requests at once; wait for the answers")
                break
            }
            waiting.append(message)
        case .tooLong(let length):
            fail(
                ControlFailure.requestTooLarge,
                "the request has \(length) bytes, more than \(ControlLimits.requestBytes); give fewer paths")
        case .truncated(let length):
            fail(ControlFailure.truncatedRequest, "the request broke off after \(length) bytes")
        }
        serveNext(context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .some(.inputClosed) = event as? ChannelEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        // The client has closed its side; it may still read why its request was refused.
        hangUp()
        if lastWords == nil { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        hangUp()
        state = .closing
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A killed client resets the connection, which is not worth a warning.
        logger.debug("control connection failed", metadata: ["error": "\(error)"])
        context.close(promise: nil)
    }

    private func hangUp() {
        waiting.removeAll()
        if case .serving(let task) = state { task.cancel() }
    }

    private func fail(_ code: String, _ message: String) {
        logger.warning("closing a control connection", metadata: ["reason": "\(message)"])
        lastWords = ControlFailure(code: code, message: message)
        // A request with news may never end, and would hold back the failure.
        if hasSentNews, case .serving(let task) = state { task.cancel() }
    }

    private func serveNext(_ context: ChannelHandlerContext) {
        guard case .idle = state else { return }
        if waiting.isEmpty {
            if let lastWords { answerAndClose(.failure(lastWords), context) }
            return
        }
        let request = waiting.removeFirst()
        hasSentNews = false
        let connection = NIOLoopBound(self, eventLoop: context.eventLoop)
        let boundContext = NIOLoopBound(context, eventLoop: context.eventLoop)
        let loop = context.eventLoop
        state = .serving(
            Self.serve(request, service, peer) { news in
                try await loop.flatSubmit { connection.value.send(news, boundContext.value) }.get()
            } then: { answer in
                loop.execute { connection.value.finish(answer, boundContext.value) }
            })
    }

    /// The outcome of one request.
    private enum Answer: Sendable {
        case response(ByteBuffer)
        case unreadable(String)
    }

    private static func serve(
        _ message: ByteBuffer, _ service: any ControlService, _ peer: PeerProcess,
        send: @escaping @Sendable (ByteBuffer) async throws -> Void, then: @escaping @Sendable (Answer) -> Void
    ) -> Task<Void, Never> {
        let listener = ControlListener(peer: peer) { try await send(ControlCoding.responseFrame($0)) }
        return Task { then(await answer(message, service, listener)) }
    }

    private static func answer(
        _ message: ByteBuffer, _ service: any ControlService, _ listener: ControlListener
    ) async -> Answer {
        let request: ControlRequest
        do {
            request = try ControlCoding.decode(ControlRequest.self, from: message)
        } catch {
            return .unreadable("\(error)")
        }
        if let problem = request.problem {
            let failure = ControlFailure(
                code: ControlFailure.badRequest, message: "the request was refused: \(problem) is out of bounds")
            return .response(ControlCoding.responseFrame(.failure(failure)))
        }
        return .response(ControlCoding.responseFrame(await service.respond(to: request, sendingNewsTo: listener)))
    }

    /// Succeeds when the socket has taken the news, fails when the connection is closed.
    private func send(_ news: ByteBuffer, _ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        guard case .serving = state else {
            return context.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        hasSentNews = true
        if lastWords != nil, case .serving(let task) = state { task.cancel() }
        return context.writeAndFlush(wrapOutboundOut(news))
    }

    private func finish(_ answer: Answer, _ context: ChannelHandlerContext) {
        guard case .serving = state else { return }
        switch answer {
        case .response(let frame):
            state = .answering
            let connection = NIOLoopBound(self, eventLoop: context.eventLoop)
            let boundContext = NIOLoopBound(context, eventLoop: context.eventLoop)
            context.writeAndFlush(wrapOutboundOut(frame)).whenSuccess {
                connection.value.becomeIdle(boundContext.value)
            }
        case .unreadable(let reason):
            waiting.removeAll()
            fail(
                ControlFailure.badRequest,
                "the daemon does not know the request, perhaps of another release; unmount and mount again (\(reason))")
            becomeIdle(context)
        }
    }

    private func becomeIdle(_ context: ChannelHandlerContext) {
        if case .closing = state { return }
        state = .idle
        serveNext(context)
    }

    private func answerAndClose(_ response: ControlResponse, _ context: ChannelHandlerContext) {
        state = .closing
        let boundContext = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(ControlCoding.responseFrame(response))).whenComplete { _ in
            boundContext.value.close(promise: nil)
        }
    }
}
