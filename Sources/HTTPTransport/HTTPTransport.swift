import AsyncHTTPClient
package import FileProvider
import Foundation
package import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization
import Waiting

/// Requests to one server, with its credential: it keeps a bounded number of connections, streams bodies both ways,
/// follows redirections within the server, and waits for a server that is restarting.
package final class HTTPTransport: Sendable {
    private let client: HTTPClient
    private let signIn: SignIn
    private let semaphore: AsyncSemaphore
    /// For long uploads, which take half of the transfers at most: programs wait for downloads.
    private let uploads: AsyncSemaphore
    private let serverPause = ServerPause()
    let settings: HTTPSettings
    /// For all connections.
    let tls: TLSConfiguration
    /// Of `tls`, for WebSockets; made at the first one.
    let tlsContext = Mutex<NIOSSLContext?>(nil)
    private let logger: Logger
    /// Whether the server did not answer the last request, after all waiting.
    private let isAway = Mutex(false)
    /// Seconds to wait for a server that refuses or drops connections, once. (The transport does not retry reads of a
    /// document's bytes: ``HTTPRequest/Retries/never``.)
    private static let patience = 10.0
    /// The number of times that a request with an unknown outcome is sent again, where the connection ended without a
    /// byte. A busy server closes connections that it had kept, whether or not a request has just arrived (Apache's
    /// event MPM, out of workers); so does a server whose time limit for idle connections is up (RFC 9112, 9.3.1). The
    /// caller would try again a second later anyway.
    private static let repetitions = 3
    private static let mostRedirections = 5

    /// - Throws: when a file of certificates cannot be read.
    package init(
        settings: HTTPSettings, credentials: any CredentialSource, logger: Logger
    ) throws(FileProviderError) {
        self.settings = settings
        self.logger = logger
        signIn = SignIn(credentials)
        semaphore = AsyncSemaphore(settings.transfers)
        uploads = AsyncSemaphore(max(1, settings.transfers / 2))
        let tls = try Self.tls(settings)
        self.tls = tls
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
        // Each piece of an answer costs some thread switches, and NIO's pieces have at most 64 KiB: over a fast line, a
        // document arrived at half the speed.
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.setOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 4 << 10, initial: 32 << 10, maximum: 512 << 10))
        }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    private static func tls(_ settings: HTTPSettings) throws(FileProviderError) -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        for file in settings.certificateAuthorities {
            do {
                tls.additionalTrustRoots.append(.certificates(try NIOSSLCertificate.fromPEMFile(file)))
            } catch {
                throw FileProviderError(.cannotSynchronize, "\(file): has no certificates in PEM", cause: error)
            }
        }
        return tls
    }

    deinit {
        // The library insists on this call, which does nothing after ``shutdown()``.
        client.shutdown { _ in }
    }

    /// Ends running requests. No call may follow.
    package func shutdown() async { try? await client.shutdown() }

    /// For a server that is slow with many requests at once.
    package func limitTransfers(to count: Int) { semaphore.limit(to: count) }

    /// For a distant server that handles many requests at once as well as few.
    package func allowMostTransfers() {
        semaphore.widen(to: settings.mostTransfers)
        uploads.widen(to: max(1, settings.mostTransfers / 2))
    }

    /// The number of simultaneous transfers.
    package var transfers: Int { semaphore.width }

    /// The credential may have changed: requests waiting for one may ask again.
    package func credentialMayHaveChanged() { signIn.mayHaveChanged() }

    /// The present credential, for a connection that is not a request; nil: there is none, or the server has refused it.
    package func credential() async throws(FileProviderError) -> Credential? {
        do {
            guard case .send(let credential) = try await signIn.credential() else { return nil }
            return credential
        } catch { throw FileProviderError(.notAuthenticated, "\(error)", cause: error) }
    }

    // MARK: A request

    /// Sends a request and passes its answer to `take`; the connection is free again when `take` has returned.
    ///
    /// The answer may have any status except those with one meaning everywhere: 401, redirections, and the server's
    /// request for a pause.
    ///
    /// - Throws: ``FileProviderError/Code/serverUnreachable``, ``FileProviderError/Code/notAuthenticated``,
    ///   ``FileProviderError/Code/cancelled``, and what `take` throws.
    package func exchange<T: Sendable>(
        _ request: HTTPRequest, _ take: (HTTPReply) async throws -> T
    ) async throws(FileProviderError) -> T {
        do {
            guard request.isTransfer else { return try await persist(request, take) }
            if request.isLong { try await uploads.enter() }
            defer { if request.isLong { uploads.leave() } }
            try await semaphore.enter()
            defer { semaphore.leave() }
            return try await persist(request, take)
        } catch {
            throw HTTPFailure.error(error, request.location.origin)
        }
    }

    /// Repeats a request while the server may be restarting.
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
                // An error after the answer began is for the caller; and a request with an unknown outcome is not
                // repeated without end.
                guard !isAnswered, HTTPFailure.outlook(error) != .other else { throw error }
                let mayPass = HTTPFailure.outlook(error) == .mayPassSoon
                let wasClosed = HTTPFailure.wasClosed(error)
                if request.retries == .never || request.retries == .once, mayPass {
                    repetitions += 1
                    if request.retries == .never, wasClosed, repetitions == 1 { continue }
                    var failure = HTTPFailure.error(error, request.location.origin)
                    failure.isTransient = true
                    throw failure
                }
                let waited = start.duration(to: .now) / .seconds(1)
                let isRepeatable =
                    request.retries == .always || HTTPFailure.wasNotSent(error)
                    || wasClosed && repetitions < Self.repetitions && !request.isLong
                repetitions += 1
                guard mayPass, isRepeatable, waited + pause < Self.patience, !isAway.withLock({ $0 }) else {
                    isAway.withLock { $0 = true }
                    throw error
                }
                try await Task.sleep(for: .seconds(pause))
                pause = min(pause * 2, 1)
            }
        }
    }

    /// Follows redirections within the server, and tries another credential if there is a new one.
    private func follow<T: Sendable>(
        _ request: HTTPRequest, _ take: (HTTPReply) async throws -> T
    ) async throws -> T {
        var request = request
        var redirections = 0
        while true {
            if let seconds = serverPause.remaining {
                throw FileProviderError(
                    .serverUnreachable,
                    "\(request.location.origin): asked for a pause of \(Int(seconds.rounded(.up))) s more")
            }
            guard case .send(let credential) = try await signIn.credential() else {
                throw FileProviderError(
                    .notAuthenticated, "\(request.location.origin): does not accept the user name and password")
            }
            let response = try await send(request, credential)
            let reply = HTTPReply(
                status: Int(response.status.code), headers: response.headers, location: request.location,
                body: HTTPBody(response.body))
            logger.trace(
                "\(request.method)", metadata: ["url": "\(request.location)", "status": "\(reply.status)"])
            switch reply.status {
            case 401 where !request.hasOwnSignature:
                if await signIn.wasRefused(credential) { continue }
                throw FileProviderError(
                    .notAuthenticated,
                    credential == nil
                        ? "\(request.location.origin): requires a user name and a password"
                        : "\(request.location.origin): does not accept the user name and password")
            case 429, 503:
                if let field = reply.field("Retry-After"),
                    let seconds = ServerPause.seconds(field, answeredAt: reply.field("Date")), seconds > 0
                {
                    serverPause.begin(seconds: seconds)
                    continue
                }
            case 301, 302, 307, 308:
                if !request.followsRedirections { break }
                redirections += 1
                request.location = try redirection(reply, from: request, redirections)
                continue
            default: break
            }
            return try await take(reply)
        }
    }

    private func send(_ request: HTTPRequest, _ credential: Credential?) async throws -> HTTPClientResponse {
        let request = try await request.finish?(request) ?? request
        var sent = HTTPClientRequest(url: request.location.url)
        sent.method = HTTPMethod(rawValue: request.method)
        sent.headers.add(name: "User-Agent", value: settings.userAgent)
        // Ranges and sizes must be those of the stored document, and a few bytes must not expand to many.
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
        // The other time limits apply: a large document may take any time.
        return try await client.execute(sent, deadline: .distantFuture, logger: nil)
    }

    private func redirection(
        _ reply: HTTPReply, from request: HTTPRequest, _ count: Int
    ) throws(FileProviderError) -> HTTPLocation {
        let old = request.location
        guard let target = reply.field("Location").flatMap({ old.resolve($0) }) else {
            throw FileProviderError(.serverUnreachable, "\(old): the server redirects without naming a target")
        }
        // Credentials and documents never go to a server that the user did not name.
        guard target.origin == old.origin else {
            throw FileProviderError(
                .serverUnreachable,
                "\(old): the server redirects to \(target.origin); if the documents have moved there, add the domain "
                    + "with that URL; if this network requires it, sign in to it")
        }
        guard count <= Self.mostRedirections else {
            throw FileProviderError(.serverUnreachable, "\(old): the server redirects too often")
        }
        return target
    }
}
