package import FileProvider
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import Synchronization

/// An open WebSocket (RFC 6455) that carries texts.
package struct WebSocket: Sendable {
    fileprivate let incoming: NIOAsyncChannelInboundStream<String>
    fileprivate let outgoing: NIOAsyncChannelOutboundWriter<String>

    /// Returns when the text is on its way.
    package func send(_ text: String) async throws { try await outgoing.write(text) }

    /// The server's texts, each at most ``mostBytes`` long, until it closes. Read them only once.
    package var texts: Texts { Texts(base: incoming) }

    package struct Texts: AsyncSequence, Sendable {
        fileprivate let base: NIOAsyncChannelInboundStream<String>

        package struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var base: NIOAsyncChannelInboundStream<String>.AsyncIterator
            package mutating func next() async throws -> String? { try await base.next() }
        }

        package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }
    }

    /// In bytes, of one text.
    package static let mostBytes = 1 << 20
    /// Seconds without a byte after which the server is asked whether it is there; after as many again it counts as gone.
    fileprivate static let silence: Int64 = 45
}

extension HTTPTransport {
    /// Opens a WebSocket on the server, without a credential in its request. It is closed when `body` has returned, when
    /// this task is cancelled, and when the server has been silent for a minute and a half.
    ///
    /// - Parameter location: `https` for `wss`.
    /// - Throws: ``FileProviderError/Code/serverUnreachable``, also where the server opens no WebSocket there;
    ///   ``FileProviderError/Code/cancelled``; and what `body` throws.
    package func withWebSocket<T: Sendable>(
        at location: HTTPLocation, _ body: @Sendable (WebSocket) async throws -> T
    ) async throws(FileProviderError) -> T {
        let opening = SocketOpening()
        do {
            return try await withTaskCancellationHandler {
                let channel = try await open(location, opening)
                return try await channel.executeThenClose { incoming, outgoing in
                    let result = try await body(WebSocket(incoming: incoming, outgoing: outgoing))
                    // (The texts of a connection that was given up may just end.)
                    try Task.checkCancellation()
                    return result
                }
            } onCancel: {
                opening.cancel()
            }
        } catch {
            if Task.isCancelled {
                throw FileProviderError(.cancelled, "\(location.origin): the connection was given up", cause: error)
            }
            throw HTTPFailure.error(error, location.origin)
        }
    }

    /// Made on a thread that may block: it reads all root certificates.
    private func madeContext() async throws -> NIOSSLContext {
        if let known = tlsContext.withLock({ $0 }) { return known }
        let made = try await NIOThreadPool.singleton.runIfActive { [tls] in try NIOSSLContext(configuration: tls) }
        tlsContext.withLock { $0 = made }
        return made
    }

    private func open(
        _ location: HTTPLocation, _ opening: SocketOpening
    ) async throws -> NIOAsyncChannel<String, String> {
        let origin = location.origin
        let context = origin.isSecure ? try await madeContext() : nil
        let host = origin.host.hasPrefix("[") ? String(origin.host.dropFirst().dropLast()) : origin.host
        let limit = TimeAmount.milliseconds(Int64(settings.connectTimeout * 1_000))
        let port = origin.port == (origin.isSecure ? 443 : 80) ? "" : ":\(origin.port)"
        let head = HTTPRequestHead(
            version: .http1_1, method: .GET, uri: location.path + (location.query.map { "?" + $0 } ?? ""),
            headers: ["Host": origin.host + port, "User-Agent": settings.userAgent])
        let upgraded = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(limit)
            .connect(host: host, port: origin.port) {
                channel -> EventLoopFuture<EventLoopFuture<NIOAsyncChannel<String, String>?>> in
                guard opening.begins(channel) else {
                    return channel.eventLoop.makeFailedFuture(CancellationError())
                }
                // TLS and the server's answer count as setting up the connection.
                let timer = channel.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let context {
                        // (An address is no name for the server to choose its certificate by.)
                        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
                        try pipeline.addHandler(
                            NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host))
                    }
                    let upgrader = NIOTypedWebSocketClientUpgrader<NIOAsyncChannel<String, String>?>(
                        maxFrameSize: WebSocket.mostBytes,
                        upgradePipelineHandler: { channel, _ in
                            timer.cancel()
                            return channel.eventLoop.makeCompletedFuture { try Self.carryTexts(channel) }
                        })
                    return try pipeline.configureUpgradableHTTPClientPipeline(
                        configuration: NIOUpgradableHTTPClientPipelineConfiguration(
                            upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
                                upgradeRequestHead: head, upgraders: [upgrader],
                                notUpgradingCompletionHandler: { channel in
                                    timer.cancel()
                                    channel.close(promise: nil)
                                    return channel.eventLoop.makeSucceededFuture(nil)
                                })))
                }
            }
        guard let channel = try await upgraded.get() else {
            throw FileProviderError(.serverUnreachable, "\(location): the server opens no WebSocket there")
        }
        return channel
    }

    private static func carryTexts(_ channel: any Channel) throws -> NIOAsyncChannel<String, String>? {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandlers([
            IdleStateHandler(readTimeout: .seconds(WebSocket.silence)),
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1_024,
                maxAccumulatedFrameSize: WebSocket.mostBytes),
            WebSocketTexts(),
        ])
        return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
    }
}

/// A connection that is being set up, for its end by a cancelled task.
private final class SocketOpening: Sendable {
    private enum State {
        case new
        case open(any Channel)
        case cancelled
    }
    private let state = Mutex(State.new)

    /// - Returns: false: the task is cancelled.
    func begins(_ channel: any Channel) -> Bool {
        state.withLock { state in
            if case .cancelled = state { return false }
            state = .open(channel)
            return true
        }
    }

    func cancel() {
        let old = state.withLock { state in
            defer { state = .cancelled }
            return state
        }
        if case .open(let channel) = old { channel.close(promise: nil) }
    }
}

/// Translates texts to frames and back; answers pings and the server's farewell, and looks after a silent server.
private final class WebSocketTexts: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = String
    typealias OutboundIn = String
    typealias OutboundOut = WebSocketFrame

    private var hasAsked = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        hasAsked = false
        switch frame.opcode {
        case .text:
            let bytes = frame.unmaskedData.readableBytesView
            guard let text = String(validating: bytes, as: UTF8.self) else {
                context.fireErrorCaught(FileProviderError(.cannotSynchronize, "a text of the server is not UTF-8"))
                context.close(promise: nil)
                return
            }
            context.fireChannelRead(Self.wrapInboundOut(text))
        case .ping: send(.pong, frame.unmaskedData, context)
        case .connectionClose:
            send(.connectionClose, frame.unmaskedData, context)
            context.close(promise: nil)
        default: break
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let frame = Self.frame(.text, ByteBuffer(string: Self.unwrapOutboundIn(data)))
        context.write(Self.wrapOutboundOut(frame), promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        if hasAsked {
            context.fireErrorCaught(ChannelError.connectTimeout(.seconds(2 * WebSocket.silence)))
            context.close(promise: nil)
        } else {
            hasAsked = true
            send(.ping, ByteBuffer(), context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(error)
        context.close(promise: nil)
    }

    private func send(_ opcode: WebSocketOpcode, _ data: ByteBuffer, _ context: ChannelHandlerContext) {
        context.writeAndFlush(Self.wrapOutboundOut(Self.frame(opcode, data)), promise: nil)
    }

    /// Frames of a client are masked (RFC 6455, 5.3).
    private static func frame(_ opcode: WebSocketOpcode, _ data: ByteBuffer) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
    }
}
