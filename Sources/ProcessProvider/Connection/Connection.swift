package import FileProvider
import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// One side of a conversation in the provider protocol. Both sides may send requests and notices.
package final class Connection: Sendable {
    /// What this side does with the requests and notices of the other.
    package struct Handler: Sendable {
        /// Must answer the request. Cancelled when the other side cancels the request, or the connection ends.
        package var request: @Sendable (ServedRequest, Connection) async -> Void
        /// Must not block.
        package var notice: @Sendable (Method, [UInt8], Connection) -> Void

        package init(
            request: @escaping @Sendable (ServedRequest, Connection) async -> Void,
            notice: @escaping @Sendable (Method, [UInt8], Connection) -> Void
        ) {
            self.request = request
            self.notice = notice
        }
    }

    private struct State {
        var lastID: UInt64 = 0
        var calls: [UInt64: OpenCall] = [:]
        var served: [UInt64: (request: ServedRequest, task: Task<Void, Never>?)] = [:]
        var end: FileProviderError?
        var lastFrame = ContinuousClock.now
        var pinged: ContinuousClock.Instant?
        var isWatching = false
        /// Bytes of messages that were written, but not yet taken by the kernel. (Without those for which their request
        /// waits.)
        var unsent = 0
    }
    private let state = Mutex(State())
    private let stream: NIOAsyncChannel<ByteBuffer, ByteBuffer>
    private let handler: Handler
    private let patience: Patience
    /// The other side, for messages.
    private let name: String
    /// The most requests of the other side at a time.
    private static let mostServed = 256
    /// The most bytes that wait for the other side to read.
    private static let mostUnsent = 64 << 20

    /// Takes over a connected stream socket. Nothing is read before ``run()``.
    package static func over(
        _ socket: Int32, name: String, patience: Patience, _ handler: Handler
    ) async throws(FileProviderError) -> Connection {
        do {
            let stream: NIOAsyncChannel<ByteBuffer, ByteBuffer> = try await ClientBootstrap(
                group: .singletonMultiThreadedEventLoopGroup
            ).withConnectedSocket(socket) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel(wrappingChannelSynchronously: channel)
                }
            }
            return Connection(stream, name, patience, handler)
        } catch {
            throw FileProviderError(.serverUnreachable, "\(name): no connection to it: \(error)")
        }
    }

    private init(
        _ stream: NIOAsyncChannel<ByteBuffer, ByteBuffer>, _ name: String, _ patience: Patience, _ handler: Handler
    ) {
        self.stream = stream
        self.name = name
        self.patience = patience
        self.handler = handler
    }

    // MARK: Life

    /// Reads until the connection ends; returns why.
    package func run() async -> FileProviderError {
        var parser = FrameParser()
        var reason = "it closed the connection"
        do {
            try await stream.executeThenClose { inbound, _ in
                reading: for try await buffer in inbound {
                    parser.append(buffer.readableBytesView)
                    while let frame = try parser.next() {
                        if let problem = receive(frame) {
                            reason = problem
                            break reading
                        }
                    }
                }
            }
        } catch let fault as FrameParser.Fault {
            reason = "it does not keep to the protocol: \(fault); it must print nothing else to its standard output"
        } catch is IOError {
        } catch {
            reason = "the connection broke: \(error)"
        }
        end(unreachable("\(name): \(reason)"))
        return state.withLock { $0.end } ?? unreachable(reason)
    }

    /// Ends the connection; every open request fails with this error.
    package func end(_ error: FileProviderError) {
        let (calls, served) = state.withLock { state in
            guard state.end == nil else { return ([OpenCall](), [(ServedRequest, Task<Void, Never>?)]()) }
            state.end = error
            defer { (state.calls, state.served) = ([:], [:]) }
            return (Array(state.calls.values), state.served.values.map { ($0.request, $0.task) })
        }
        for call in calls { _ = call.put(.failure(error)) }
        for (request, task) in served {
            request.cancel()
            task?.cancel()
        }
        stream.channel.close(promise: nil)
    }

    /// Why it has ended; nil: it has not.
    package var ending: FileProviderError? { state.withLock { $0.end } }

    private func unreachable(_ message: String) -> FileProviderError {
        var error = FileProviderError(.serverUnreachable, message)
        error.isTransient = true
        return error
    }

    // MARK: Receiving

    /// Returns why the other side is wrong.
    private func receive(_ frame: Frame) -> String? {
        state.withLock { state in
            state.lastFrame = .now
            state.pinged = nil
        }
        switch frame {
        case .bytes(let id, let offset, let bytes):
            // (A request that is over may have bytes under way.)
            return call(id)?.put(.bytes(offset: offset, bytes))
        case .json(let json):
            let envelope: Envelope
            do { envelope = try Envelope(json) } catch {
                return "a message cannot be read: \(Self.words(error))"
            }
            switch envelope.kind {
            case .request(let id, let method): return serve(id, method, json)
            case .notice(let method): return note(method, json)
            case .partial(let id): return call(id)?.put(.partial(json))
            case .result(let id): return take(id)?.put(.result(json))
            case .error(let id, let error): return take(id)?.put(.failure(error.value))
            case .unknown: return "a message has neither a method nor a result nor an error"
            }
        }
    }

    private func call(_ id: UInt64) -> OpenCall? { state.withLock { $0.calls[id] } }

    /// The call, which is over.
    private func take(_ id: UInt64) -> OpenCall? { state.withLock { $0.calls.removeValue(forKey: id) } }

    private func serve(_ id: UInt64, _ method: String, _ json: [UInt8]) -> String? {
        let request = ServedRequest(id, method, json, self)
        if method == Method.ping.rawValue {
            request.answer(Message.Nothing())
            return unreadProblem
        }
        enum Decision { case serve, refuse, wrong }
        let decision = state.withLock { state -> Decision in
            if state.end != nil { return .refuse }
            if state.served[id] != nil { return .wrong }
            if state.served.count >= Self.mostServed { return .refuse }
            state.served[id] = (request, nil)
            return .serve
        }
        switch decision {
        case .wrong: return "two open requests have the number \(id)"
        case .refuse:
            request.answer(FileProviderError(.busy, "more than \(Self.mostServed) requests at a time"))
            return unreadProblem
        case .serve: break
        }
        let task = Task { [self] in
            await handler.request(request, self)
            request.answer(FileProviderError(.unsupported, "\(method.prefix(100)): there is no such request"))
            state.withLock { _ = $0.served.removeValue(forKey: id) }
        }
        state.withLock { state in
            // (It may be over already.)
            if state.served[id]?.request === request { state.served[id]?.task = task }
        }
        return unreadProblem
    }

    private var unreadProblem: String? {
        let unsent = state.withLock { $0.unsent }
        return unsent > Self.mostUnsent ? "it does not read: \(unsent) bytes wait for it" : nil
    }

    private func note(_ name: String, _ json: [UInt8]) -> String? {
        guard let method = Method(rawValue: name) else { return nil }
        switch method {
        case .cancel:
            guard let about = Self.params(Message.About.self, json) else { return "a cancel names no request" }
            let served = state.withLock { $0.served[about.request] }
            served?.request.cancel()
            served?.task?.cancel()
        case .credit:
            guard let credit = Self.params(Message.Credit.self, json) else { return "a credit cannot be read" }
            state.withLock { $0.served[credit.request]?.request }?.give(credit.bytes)
        case .working:
            guard let about = Self.params(Message.About.self, json) else { return "a working names no request" }
            call(about.request)?.sign()
        default: handler.notice(method, json, self)
        }
        return nil
    }

    package static func params<Params: Decodable>(_ type: Params.Type, _ json: [UInt8]) -> Params? {
        (try? JSONDecoder().decode(Body.Params<Params>.self, from: Data(json)))?.params
    }

    /// A decoding error on one line.
    static func words(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)".prefix(300).description }
        func at(_ context: DecodingError.Context, _ key: (any CodingKey)? = nil) -> String {
            (context.codingPath + (key.map { [$0] } ?? [])).map(\.stringValue).joined(separator: ".")
        }
        return switch error {
        case .keyNotFound(let key, let context): "the field \(at(context, key)) is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "the field \(at(context)) has another type than the protocol says"
        case .dataCorrupted(let context):
            context.codingPath.isEmpty ? "it is not JSON in UTF-8" : "the field \(at(context)) has no possible value"
        @unknown default: "it has another form than the protocol says"
        }
    }

    // MARK: Sending

    /// - Parameter written: called when the kernel has taken it, or never will.
    func send(_ frame: Frame, _ written: @escaping @Sendable () -> Void) {
        guard state.withLock({ $0.end == nil }) else { return written() }
        stream.channel.writeAndFlush(ByteBuffer(bytes: frame.encoded)).whenComplete { _ in written() }
    }

    func send(json message: some Encodable) throws(FileProviderError) {
        let json = try Self.encoded(message)
        state.withLock { $0.unsent += json.count }
        send(.json(json)) { [self] in state.withLock { $0.unsent -= json.count } }
    }

    static func encoded(_ message: some Encodable) throws(FileProviderError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        let json: Data
        do { json = try encoder.encode(message) } catch {
            throw FileProviderError(.cannotSynchronize, "a message cannot be encoded: \(error)")
        }
        guard json.count <= Frame.mostJSON else {
            throw FileProviderError(
                .cannotSynchronize, "a message has \(json.count) bytes, more than \(Frame.mostJSON)")
        }
        return Array(json)
    }

    package func notify(_ method: Method, _ params: some Encodable) {
        try? send(json: Body.Request(id: nil, method: method, params: params))
    }

    /// The request's contents or domain, for a request of the other side that belongs to it.
    package func contents(of id: UInt64) -> (any ContentSource)? { call(id)?.contents }
    package func domain(of id: UInt64) -> (any FileProviderDomain)? { call(id)?.domain }
    /// A sign of life of a request: its contents were asked for.
    package func sign(of id: UInt64) { call(id)?.sign() }
    /// This side begins, or ends, to read the contents of a request.
    func isRead(_ id: UInt64, _ begins: Bool) { call(id)?.isRead(begins) }
    func isCancelled(_ id: UInt64) -> Bool { call(id)?.isCancelled ?? false }

    // MARK: Requests

    /// Sends a request, and waits for its answer.
    ///
    /// When the task is cancelled, the other side is told, and its answer is still waited for: only the other side knows
    /// whether a change was made.
    ///
    /// - Parameters:
    ///   - contents: what the other side may read, with `readContents`, until it answers.
    ///   - domain: what the other side may ask about, until it answers.
    ///   - sink: takes the bytes that the other side sends before its answer.
    package func call<Answer: Decodable & Sendable>(
        _ method: Method, _ params: some Encodable & Sendable, contents: (any ContentSource)? = nil,
        domain: (any FileProviderDomain)? = nil, into sink: (any ContentSink)? = nil
    ) async throws(FileProviderError) -> Answer {
        let call = try open(method, contents, domain, credit: sink == nil ? 0 : Message.Credit.initial)
        do { try send(json: Body.Request(id: call.id, method: method, params: params)) } catch {
            _ = take(call.id)
            throw error
        }
        let result: Result<Answer, FileProviderError> = await withTaskCancellationHandler {
            do throws(FileProviderError) { return .success(try await answer(to: call, sink)) } catch {
                return .failure(error)
            }
        } onCancel: {
            cancel(call)
        }
        return try result.get()
    }

    private func open(
        _ method: Method, _ contents: (any ContentSource)?, _ domain: (any FileProviderDomain)?, credit: Int
    ) throws(FileProviderError) -> OpenCall {
        let (call, startsWatch) = try state.withLock { (state) throws(FileProviderError) -> (OpenCall, Bool) in
            if let end = state.end { throw end }
            state.lastID += 1
            let call = OpenCall(state.lastID, method, credit: credit, contents: contents, domain: domain)
            state.calls[call.id] = call
            defer { state.isWatching = true }
            if !state.isWatching { (state.lastFrame, state.pinged) = (.now, nil) }
            return (call, !state.isWatching)
        }
        if startsWatch { Task { await watch() } }
        return call
    }

    private func answer<Answer: Decodable & Sendable>(
        to call: OpenCall, _ sink: (any ContentSink)?
    ) async throws(FileProviderError) -> Answer {
        var parts: [Answer] = []
        var refusal: FileProviderError?
        var taken = 0
        while true {
            switch await call.next() {
            case .bytes(let offset, let bytes):
                guard refusal == nil, let sink else { continue }
                do {
                    try await sink.write(bytes, at: offset)
                    taken += bytes.count
                    // (The other side has more than that left, so small frames need no credit each.)
                    if taken >= Message.Credit.initial / 4 {
                        call.give(taken)
                        notify(.credit, Message.Credit(request: call.id, bytes: taken))
                        taken = 0
                    }
                } catch {
                    refusal = error
                    cancel(call)
                }
            case .partial(let json):
                do throws(FileProviderError) {
                    parts.append(try Self.decode(Body.Partial<Answer>.self, json, call.method).partial)
                } catch {
                    refusal = error
                    cancel(call)
                }
            case .result(let json):
                if let refusal { throw refusal }
                let last = try Self.decode(Body.Result<Answer>.self, json, call.method).result
                return try Self.joined(parts, last, call.method)
            case .failure(let error):
                if let refusal { throw refusal }
                guard call.wasSilent, error.code == .cancelled else { throw error }
                throw unreachable("\(name): it has not worked on \(call.method.rawValue) for \(patience.silence)")
            }
        }
    }

    private static func decode<Value: Decodable>(
        _ type: Value.Type, _ json: [UInt8], _ method: Method
    ) throws(FileProviderError) -> Value {
        do { return try JSONDecoder().decode(type, from: Data(json)) } catch {
            throw FileProviderError(
                .cannotSynchronize,
                "the provider's answer to \(method.rawValue) cannot be read: \(words(error)); tell its author")
        }
    }

    private static func joined<Answer>(
        _ parts: [Answer], _ last: Answer, _ method: Method
    ) throws(FileProviderError) -> Answer {
        if parts.isEmpty { return last }
        guard var whole = last as? any ListAnswer else {
            throw FileProviderError(
                .cannotSynchronize, "the provider answered \(method.rawValue), which has no lists, in parts")
        }
        var isFirst = true
        for part in parts {
            // (In place: each list is moved once.)
            if isFirst { (whole, isFirst) = (part as! any ListAnswer, false) } else { whole.append(any: part) }
        }
        whole.append(any: last)
        return whole as! Answer
    }

    private func cancel(_ call: OpenCall) {
        guard call.cancel() else { return }
        notify(.cancel, Message.About(request: call.id))
        // The other side may wait for its contents before it answers.
        let reads = state.withLock { state in
            state.served.values.filter {
                $0.request.about == call.id && $0.request.name == Method.readContents.rawValue
            }
        }
        for (request, task) in reads {
            request.cancel()
            task?.cancel()
        }
    }

    // MARK: Watching

    /// Looks at the open requests until there are none.
    private func watch() async {
        let shortest = min(patience.silence, patience.afterCancel, patience.beforePing, patience.afterPing)
        repeat { try? await Task.sleep(for: min(.seconds(5), max(.milliseconds(20), shortest / 4))) } while look()
    }

    /// - Returns: whether to look again.
    private func look() -> Bool {
        let now = ContinuousClock.now
        enum Verdict { case fine, ping, hangs, idle }
        let (verdict, calls) = state.withLock { state -> (Verdict, [OpenCall]) in
            if state.end != nil || state.calls.isEmpty {
                state.isWatching = false
                return (.idle, [])
            }
            let calls = Array(state.calls.values)
            if let pinged = state.pinged { return (now - pinged > patience.afterPing ? .hangs : .fine, calls) }
            guard now - state.lastFrame > patience.beforePing else { return (.fine, calls) }
            state.pinged = now
            return (.ping, calls)
        }
        switch verdict {
        case .idle: return false
        case .hangs:
            end(unreachable("\(name): it has not answered for \(patience.beforePing + patience.afterPing)"))
            return false
        case .ping: ping()
        case .fine: break
        }
        for call in calls {
            switch call.standing(patience, at: now) {
            case .fine: break
            case .silent:
                call.noteSilence()
                cancel(call)
            case .hangs:
                end(unreachable("\(name): it does not answer \(call.method.rawValue), which was cancelled"))
                return false
            }
        }
        return true
    }

    private func ping() {
        Task { [self] in
            let _: Message.Nothing? = try? await self.call(.ping, Message.Nothing())
        }
    }
}

extension ListAnswer {
    /// (The part has the same type as this.)
    fileprivate mutating func append(any part: Any) { if let part = part as? Self { append(part) } }
}
