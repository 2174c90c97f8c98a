import Foundation
import HTTPTransport
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Where a server that speaks S3 sends the events of a bucket: an address of this machine, and a port.
package struct S3NotificationAddress: Hashable, Sendable {
    package let host: String
    package let port: Int

    package struct Problem: Error, CustomStringConvertible {
        package let description: String
    }

    /// - Parameter url: `http://ADDRESS:PORT`.
    package init(_ url: String) throws(Problem) {
        // (The port is written out: nothing here should be mistaken for a web server.)
        guard let location = HTTPLocation(url), !location.origin.isSecure, location.components.isEmpty,
            location.query == nil, url.hasSuffix(":\(location.origin.port)"), location.origin.port > 0
        else {
            throw Problem(
                description: "“\(url)”: is not an address for notifications; write http://ADDRESS:PORT, an address of "
                    + "this machine that the server of the bucket can reach")
        }
        host = location.origin.host
        port = location.origin.port
    }

    /// Without the brackets of an address in the form of IPv6.
    var bound: String { host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host }

    /// With a path that nobody else knows.
    func url(_ token: String) -> String { "http://\(host):\(port)/\(token)" }
}

/// Receives events over HTTP. Nobody has to prove more than to know the token; so what they say is a hint and no more,
/// and everything about it has a bound.
final class S3NotificationServer: Sendable {
    /// In bytes: a message is about 1 KiB for each event in it.
    static let longestMessage = 256 << 10
    static let mostConnections = 64
    /// Of a connection on which nothing happens.
    private static let patience = TimeAmount.seconds(30)
    /// In seconds, of one message, and of the wait for it on a connection.
    static let longest: Int64 = 60

    private let channel: any Channel
    private let connections: Connections

    private struct TooManyConnections: Error {}

    private final class Connections: Sendable {
        private let open = Mutex<[ObjectIdentifier: any Channel]>([:])
        func begin(_ channel: any Channel) -> Bool {
            open.withLock { open in
                open[ObjectIdentifier(channel)] = channel
                return open.count <= S3NotificationServer.mostConnections
            }
        }
        func end(_ channel: any Channel) { _ = open.withLock { $0.removeValue(forKey: ObjectIdentifier(channel)) } }
        var all: [any Channel] { open.withLock { Array($0.values) } }
    }

    /// - Parameters:
    ///   - token: the path of the only address that is listened to.
    ///   - take: gets the body of each message, on a thread of the network: it must not block.
    /// - Throws: when the address is not one of this machine, or the port is taken.
    init(
        _ address: S3NotificationAddress, token: String, longest: Int64 = longest,
        take: @escaping @Sendable ([UInt8]) -> Void
    ) async throws {
        let connections = Connections()
        self.connections = connections
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let hasRoom = connections.begin(channel)
                    channel.closeFuture.whenComplete { _ in connections.end(channel) }
                    if !hasRoom { throw TooManyConnections() }
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(IdleStateHandler(allTimeout: S3NotificationServer.patience))
                    try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try pipeline.addHandler(MessageHandler(path: "/" + token, .seconds(longest), take: take))
                }
            }
            .bind(host: address.bound, port: address.port).get()
    }

    func end() async {
        try? await channel.close()
        for connection in connections.all { try? await connection.close() }
    }

    /// One request after the other on a connection.
    private final class MessageHandler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let path: [UInt8]
        private let take: @Sendable ([UInt8]) -> Void
        private var body: [UInt8] = []
        private var refusal: HTTPResponseStatus?
        private var keepsAlive = false
        private let longest: TimeAmount
        private var end: Scheduled<Void>?

        init(path: String, _ longest: TimeAmount, take: @escaping @Sendable ([UInt8]) -> Void) {
            self.path = Array(path.utf8)
            self.longest = longest
            self.take = take
        }

        /// A client that sends a byte now and then is never idle.
        private func limit(_ context: ChannelHandlerContext) {
            let channel = context.channel
            end?.cancel()
            end = context.eventLoop.scheduleTask(in: longest) { channel.close(promise: nil) }
        }

        func channelActive(context: ChannelHandlerContext) {
            limit(context)
            context.fireChannelActive()
        }

        func channelInactive(context: ChannelHandlerContext) {
            end?.cancel()
            context.fireChannelInactive()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                body = []
                keepsAlive = head.isKeepAlive
                refusal = nil
                if !isPath(head.uri) {
                    refusal = .notFound
                } else if head.method != .POST {
                    refusal = .methodNotAllowed
                } else if let length = head.headers.first(name: "Content-Length").flatMap({ Int($0) }),
                    length > S3NotificationServer.longestMessage
                {
                    refusal = .payloadTooLarge
                }
                // (A stranger's body is not read.)
                if let refusal { answer(context, refusal, closes: true) }
            case .body(let buffer):
                guard refusal == nil else { return }
                guard body.count + buffer.readableBytes <= S3NotificationServer.longestMessage else {
                    refusal = .payloadTooLarge
                    return answer(context, .payloadTooLarge, closes: true)
                }
                body += buffer.readableBytesView
            case .end:
                guard refusal == nil else { return }
                limit(context)
                let message = body
                body = []
                take(message)
                answer(context, .ok, closes: !keepsAlive)
            }
        }

        /// In a time that says nothing of where they differ.
        private func isPath(_ uri: String) -> Bool {
            let given = Array(uri.utf8)
            guard given.count == path.count else { return false }
            return zip(given, path).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
        }

        private func answer(_ context: ChannelHandlerContext, _ status: HTTPResponseStatus, closes: Bool) {
            var headers = HTTPHeaders([("Content-Length", "0")])
            if closes { headers.add(name: "Connection", value: "close") }
            let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            let end = context.writeAndFlush(wrapOutboundOut(.end(nil)))
            if closes {
                let channel = context.channel
                end.whenComplete { _ in channel.close(promise: nil) }
            }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
