import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Serves the page, and what the page asks for, to one user's browser on this machine.
package final class WebServer: Sendable {
    /// Bounds of what a client may use.
    package struct Bounds: Sendable {
        package var connections = 64
        /// Of all header fields of a request together.
        package var headerBytes = 16 << 10
        /// Of a request's body, except uploads.
        package var bodyBytes = 256 << 10
        /// Within which a request must have come whole, in seconds; of an upload, each piece.
        package var requestSeconds = 20.0
        /// Of a connection on which nothing moves, in seconds.
        package var idleSeconds = 75.0
        package init() {}
    }

    package let port: Int
    let bounds: Bounds
    private let channels: [NIOAsyncChannel<Connection, Never>]
    private let gate: RequestGate
    private let sessions: WebSessions
    private let api: WebAPI
    private let open = Counter()

    typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>
    typealias Parts = NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator

    /// Listens on loopback only.
    ///
    /// - Parameters:
    ///   - port: 0: a free one.
    ///   - codes: the folder of the codes that open the page.
    ///   - domains: the mount points that the page shows.
    /// - Throws: when the port is taken.
    package init(
        port wanted: Int = 0, codes: PageCodes, bounds: Bounds = Bounds(), domains: @escaping @Sendable () -> [String]
    ) async throws {
        self.bounds = bounds
        let first = try await Self.listen("127.0.0.1", wanted, bounds)
        port = first.channel.localAddress?.port ?? wanted
        // (A machine without IPv6 has no ::1.)
        let second = try? await Self.listen("::1", port, bounds)
        channels = [first] + (second.map { [$0] } ?? [])
        gate = RequestGate(port: port, headerBytes: bounds.headerBytes)
        sessions = WebSessions(codes)
        api = WebAPI(domains: domains)
    }

    /// Serves until this task is cancelled.
    package func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for channel in channels {
                group.addTask {
                    try await channel.executeThenClose { inbound in
                        try await withThrowingDiscardingTaskGroup { group in
                            for try await connection in inbound { group.addTask { await self.serve(connection) } }
                        }
                    }
                }
            }
        }
    }

    /// When a client that may use the page last asked for something.
    package var lastUse: ContinuousClock.Instant { sessions.lastUse }

    private final class Counter: Sendable {
        private let open = Mutex(0)
        init() {}
        func begin(_ limit: Int) -> Bool {
            open.withLock { open in
                open += 1
                return open <= limit
            }
        }
        func end() { open.withLock { $0 -= 1 } }
    }

    private static func listen(
        _ host: String, _ port: Int, _ bounds: Bounds
    ) async throws -> NIOAsyncChannel<Connection, Never> {
        try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    let idle = TimeAmount.nanoseconds(Int64(bounds.idleSeconds * 1e9))
                    try pipeline.addHandler(IdleStateHandler(allTimeout: idle))
                    try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: true, withErrorHandling: true)
                    try pipeline.addHandler(RequestTimes(.nanoseconds(Int64(bounds.requestSeconds * 1e9))))
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
    }

    // MARK: Requests

    private func serve(_ connection: Connection) async {
        defer { open.end() }
        guard open.begin(bounds.connections) else {
            try? await connection.executeThenClose { _, _ in }
            return
        }
        // (A client may hang up at any time.)
        try? await connection.executeThenClose { inbound, outbound in
            var parts = inbound.makeAsyncIterator()
            while case .head(let head)? = try await parts.next() {
                let answer = Answer(outbound, keepsAlive: head.isKeepAlive)
                do {
                    try await respond(head, &parts, answer)
                } catch let problem as WebProblem {
                    // (Part of the body may not have been read.)
                    try await answer.send(problem)
                    return
                }
                if !head.isKeepAlive { return }
            }
        }
    }

    private func respond(_ head: HTTPRequestHead, _ parts: inout Parts, _ answer: Answer) async throws {
        try gate.check(head)
        let path = String(head.uri.prefix { $0 != "?" && $0 != "#" })
        guard path.hasPrefix("/api/") else {
            guard head.method == .GET || head.method == .HEAD else { throw WebProblem(.methodNotAllowed) }
            guard let asset = WebAssets.all[path] else { throw WebProblem(.notFound) }
            _ = try await body(&parts, limit: 0)
            return try await answer.send(asset.bytes, type: asset.type, isHead: head.method == .HEAD)
        }
        let name = String(path.dropFirst(5))
        if name == "session" {
            try requireJSON(head)
            let given = try decode(SessionRequest.self, try await body(&parts, limit: 1_024))
            guard let token = await sessions.open(code: given.code) else {
                throw WebProblem(.forbidden, "this address was used before, or is too old; run: hydrant web --open")
            }
            return try await answer.send(json: ["token": token])
        }
        guard sessions.isOpen(head.headers[canonicalForm: "Authorization"].map(String.init)) else {
            throw WebProblem(.forbidden, "this page may not be used any more; run: hydrant web --open")
        }
        if name == "upload" {
            guard head.method == .PUT else { throw WebProblem(.methodNotAllowed) }
            return try await upload(head, &parts, answer)
        }
        try requireJSON(head)
        let call = try decode(WebCall.self, try await body(&parts, limit: bounds.bodyBytes))
        try await api.answer(name, call, answer)
    }

    private struct SessionRequest: Decodable { var code: String }

    /// A form of another site cannot send this type.
    private func requireJSON(_ head: HTTPRequestHead) throws {
        guard head.method == .POST else { throw WebProblem(.methodNotAllowed) }
        guard head.headers.first(name: "Content-Type")?.lowercased().hasPrefix("application/json") == true else {
            throw WebProblem(.unsupportedMediaType)
        }
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ body: [UInt8]) throws -> Value {
        do { return try JSONDecoder().decode(type, from: Data(body)) } catch { throw WebProblem(.badRequest) }
    }

    private func body(_ parts: inout Parts, limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let part = try await parts.next() {
            switch part {
            case .head: throw WebProblem(.badRequest)
            case .body(let buffer):
                guard bytes.count + buffer.readableBytes <= limit else { throw WebProblem(.payloadTooLarge) }
                bytes += buffer.readableBytesView
            case .end: return bytes
            }
        }
        throw WebProblem(.badRequest)
    }

    /// The body goes into a draft beside its place piece by piece.
    private func upload(_ head: HTTPRequestHead, _ parts: inout Parts, _ answer: Answer) async throws {
        let upload = try await api.beginUpload(query: String(head.uri.drop { $0 != "?" }.dropFirst()))
        do {
            var isWhole = false
            while !isWhole, let part = try await parts.next() {
                switch part {
                case .head: throw WebProblem(.badRequest)
                case .body(let buffer): try await upload.write(Array(buffer.readableBytesView))
                case .end: isWhole = true
                }
            }
            guard isWhole else { throw WebProblem(.badRequest) }
            try await upload.finish()
        } catch {
            await upload.discard()
            throw error
        }
        try await answer.send(json: ["done": true])
    }
}

/// Closes a connection whose request does not come whole in time: a client that sends a byte now and then is never idle.
private final class RequestTimes: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let limit: TimeAmount
    private var timer: Scheduled<Void>?
    private var isUpload = false

    init(_ limit: TimeAmount) { self.limit = limit }

    private func start(_ context: ChannelHandlerContext) {
        timer?.cancel()
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
    }

    func handlerAdded(context: ChannelHandlerContext) { start(context) }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): isUpload = head.method == .PUT
        case .body: if isUpload { start(context) }
        case .end: timer?.cancel()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { start(context) }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}
