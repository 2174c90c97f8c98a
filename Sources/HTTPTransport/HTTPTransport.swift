import AsyncHTTPClient
package import FileProvider
import Foundation
package import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization

/// Requests to one server, with its credential: connections are kept and bounded, bodies are streamed both ways,
/// redirections within the server are followed, and a server that is just restarted is waited for.
package final class HTTPTransport: Sendable {
    private let client: HTTPClient
    private let signIn: SignIn
    private let lanes: Lanes
    private let holdoff = Holdoff()
    private let settings: HTTPSettings
    private let logger: Logger
    /// The server did not answer the last request, however long it was waited for.
    private let isAway = Mutex(false)
    /// Seconds that a server which refuses or drops connections is waited for, once.
    private static let patience = 10.0
    /// How often what may have been done is sent again, where the connection ended without a byte. A busy server closes
    /// connections that it keeps, whether or not something has just come (Apache's event MPM, out of workers); so does one
    /// whose time for an idle one is up (RFC 9112, 9.3.1). It is what whoever asked would do a second later.
    private static let repetitions = 3
    private static let mostRedirections = 5

    /// - Throws: when a file with certificates cannot be read.
    package init(
        settings: HTTPSettings, credentials: any CredentialSource, logger: Logger
    ) throws(FileProviderError) {
        self.settings = settings
        self.logger = logger
        signIn = SignIn(credentials)
        lanes = Lanes(settings.transfers)
        var tls = TLSConfiguration.makeClientConfiguration()
        for file in settings.certificateAuthorities {
            do {
                tls.additionalTrustRoots.append(.certificates(try NIOSSLCertificate.fromPEMFile(file)))
            } catch {
                throw FileProviderError(.cannotSynchronize, "\(file): holds no certificates in PEM", cause: error)
            }
        }
        let idle = TimeAmount.milliseconds(Int64(settings.idleTimeout * 1_000))
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(
                connect: .milliseconds(Int64(settings.connectTimeout * 1_000)), read: idle, write: idle),
            connectionPool: .init(
                idleTimeout: .seconds(50), concurrentHTTP1ConnectionsPerHostSoftLimit: settings.mostTransfers + 2),
            decompression: .disabled)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        // Each piece of an answer is some switches between threads, and NIO's own are at most 64 KiB: a document over a fast
        // line came half as fast.
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.setOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 4 << 10, initial: 32 << 10, maximum: 512 << 10))
        }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    deinit {
        // The library insists; who has called ``shutdown()`` did it already.
        client.shutdown { _ in }
    }

    /// Ends what is running. No call may follow.
    package func shutdown() async { try? await client.shutdown() }

    /// For a server that is slow with many at once.
    package func limitTransfers(to count: Int) { lanes.limit(to: count) }

    /// For a server that is far away, and minds no more than others how many come at once.
    package func allowMostTransfers() { lanes.widen(to: settings.mostTransfers) }

    /// At once.
    package var transfers: Int { lanes.width }

    /// There may be another credential: whoever waits for one may ask.
    package func credentialMayHaveChanged() { signIn.mayHaveChanged() }

    // MARK: A request

    /// Sends a request and hands its answer over; the connection is free again when `take` has returned.
    ///
    /// The answer may have any status but those that are the same for everybody: 401, redirections, and the server's wish
    /// to be left alone.
    ///
    /// - Throws: ``FileProviderError/Code/serverUnreachable``, ``FileProviderError/Code/notAuthenticated``,
    ///   ``FileProviderError/Code/cancelled``, and what `take` throws.
    package func exchange<T: Sendable>(
        _ request: HTTPRequest, _ take: (HTTPReply) async throws -> T
    ) async throws(FileProviderError) -> T {
        do {
            guard request.isTransfer else { return try await persist(request, take) }
            try await lanes.enter()
            defer { lanes.leave() }
            return try await persist(request, take)
        } catch {
            throw HTTPFailure.error(error, request.location.origin)
        }
    }

    /// Again and again while the server may just be restarting.
    private func persist<T: Sendable>(
        _ request: HTTPRequest, _ take: (HTTPReply) async throws -> T
    ) async throws -> T {
        let start = ContinuousClock.now
        var pause = 0.1
        var repetitions = 0
        while true {
            var isAnswered = false
            do {
                return try await follow(request) { reply in
                    isAnswered = true
                    isAway.withLock { $0 = false }
                    return try await take(reply)
                }
            } catch {
                // What came with an answer is for whoever takes it; and what may have been done is not asked for without end.
                guard !isAnswered, HTTPFailure.outlook(error) != .other else { throw error }
                let waited = start.duration(to: .now) / .seconds(1)
                let isRepeatable =
                    request.isRepeatable || HTTPFailure.wasNotSent(error)
                    || HTTPFailure.wasClosed(error) && repetitions < Self.repetitions && !request.isLong
                repetitions += 1
                guard HTTPFailure.outlook(error) == .mayPassSoon, isRepeatable,
                    waited + pause < Self.patience, !isAway.withLock({ $0 })
                else {
                    isAway.withLock { $0 = true }
                    throw error
                }
                try await Task.sleep(for: .seconds(pause))
                pause = min(pause * 2, 1)
            }
        }
    }

    /// Follows redirections within the server, and tries another credential where there is one by now.
    private func follow<T: Sendable>(
        _ request: HTTPRequest, _ take: (HTTPReply) async throws -> T
    ) async throws -> T {
        var request = request
        var redirections = 0
        while true {
            if let seconds = holdoff.remaining {
                throw FileProviderError(
                    .serverUnreachable,
                    "\(request.location.origin) asked to be left alone for \(Int(seconds.rounded(.up))) s more")
            }
            guard case .send(let credential) = try await signIn.credential() else {
                throw FileProviderError(
                    .notAuthenticated, "\(request.location.origin) does not accept the user name and password")
            }
            let response = try await send(request, credential)
            let reply = HTTPReply(
                status: Int(response.status.code), headers: response.headers, location: request.location,
                body: HTTPBody(response.body))
            logger.trace(
                "\(request.method)", metadata: ["url": "\(request.location)", "status": "\(reply.status)"])
            switch reply.status {
            case 401:
                if await signIn.wasRefused(credential) { continue }
                throw FileProviderError(
                    .notAuthenticated,
                    credential == nil
                        ? "\(request.location.origin) wants a user name and a password"
                        : "\(request.location.origin) does not accept the user name and password")
            case 429, 503:
                if let field = reply.field("Retry-After"),
                    let seconds = Holdoff.seconds(field, answeredAt: reply.field("Date")), seconds > 0
                {
                    holdoff.begin(seconds: seconds)
                    continue
                }
            case 301, 302, 307, 308:
                redirections += 1
                request.location = try redirection(reply, from: request, redirections)
                continue
            default: break
            }
            return try await take(reply)
        }
    }

    private func send(_ request: HTTPRequest, _ credential: Credential?) async throws -> HTTPClientResponse {
        var sent = HTTPClientRequest(url: request.location.url)
        sent.method = HTTPMethod(rawValue: request.method)
        sent.headers.add(name: "User-Agent", value: settings.userAgent)
        // Ranges and sizes are those of the document as it is, and a few bytes cannot become many here.
        sent.headers.add(name: "Accept-Encoding", value: "identity")
        if let credential { sent.headers.add(name: "Authorization", value: credential.authorization.revealed) }
        for (name, value) in request.headers { sent.headers.add(name: name, value: value) }
        switch request.body {
        case nil: break
        case .bytes(let bytes): sent.body = .bytes(ByteBuffer(bytes: bytes))
        case .content(let source, let range):
            sent.body = .stream(
                ContentBody(source: source, range: range), length: .known(Int64(range.count)))
        }
        // The time-outs count: a large document takes as long as it takes.
        return try await client.execute(sent, deadline: .distantFuture, logger: nil)
    }

    private func redirection(
        _ reply: HTTPReply, from request: HTTPRequest, _ count: Int
    ) throws(FileProviderError) -> HTTPLocation {
        let old = request.location
        guard let target = reply.field("Location").flatMap({ old.resolve($0) }) else {
            throw FileProviderError(.serverUnreachable, "\(old): the server sends us elsewhere, and does not say where")
        }
        // Never with our password, or our documents, to somebody whom the user did not name.
        guard target.origin == old.origin else {
            throw FileProviderError(
                .serverUnreachable,
                "\(old): the server sends us to \(target.origin); if that is where the documents are now, add the domain "
                    + "with that URL (is there a page of this network's to sign in at?)")
        }
        guard count <= Self.mostRedirections else {
            throw FileProviderError(.serverUnreachable, "\(old): the server sends us from place to place")
        }
        return target
    }
}
