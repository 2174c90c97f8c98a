import AsyncHTTPClient
package import FileProvider
import NIOCore
import NIOHTTP1
import NIOPosix

/// HTTP requests to a program of this machine that listens on a Unix socket. Without sign-in, redirections and
/// repetitions: who calls it knows whether the program runs.
package final class SocketTransport: Sendable {
    private let socket: String
    private let client: HTTPClient
    private let name: String

    /// - Parameters:
    ///   - socket: the path of the socket.
    ///   - name: the program, for people.
    package init(socket: String, name: String) {
        self.socket = socket
        self.name = name
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            // An answer comes when the work is done: there is no limit for the time between bytes.
            timeout: .init(connect: .seconds(5)),
            connectionPool: .init(idleTimeout: .seconds(20), concurrentHTTP1ConnectionsPerHostSoftLimit: 64),
            decompression: .disabled)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.setOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 4 << 10, initial: 32 << 10, maximum: 512 << 10))
        }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    deinit {
        // The library insists on this call, which does nothing after ``shutdown()``.
        client.shutdown { _ in }
    }

    /// Ends running requests. No call may follow.
    package func shutdown() async { try? await client.shutdown() }

    /// Sends a request and passes its answer to `take`. The connection is closed when the task is cancelled.
    ///
    /// - Parameters:
    ///   - path: with its query, percent-encoded.
    ///   - limit: for the whole request; nil: none.
    /// - Throws: what `take` throws, else ``HTTPFailure/error(_:_:)``.
    package func exchange<T: Sendable>(
        _ method: String, _ path: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
        within limit: Duration?, _ take: (HTTPReply) async throws -> T
    ) async throws(FileProviderError) -> T {
        var request = HTTPClientRequest(url: "http+unix://\(PercentCoding.encode(socket.utf8))\(path)")
        request.method = HTTPMethod(rawValue: method)
        // (The library would name the socket, which is no host.)
        request.headers.add(name: "Host", value: "localhost")
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(ByteBuffer(bytes: body)) }
        let origin = HTTPLocation.Origin(isSecure: false, host: name, port: 80)
        do {
            let deadline = limit.map { NIODeadline.now() + .nanoseconds(Int64($0 / .nanoseconds(1))) }
            let response = try await client.execute(request, deadline: deadline ?? .distantFuture, logger: nil)
            let reply = HTTPReply(
                status: Int(response.status.code), headers: response.headers,
                location: HTTPLocation(origin: origin, components: []), body: HTTPBody(response.body))
            return try await take(reply)
        } catch {
            throw HTTPFailure.error(error, origin)
        }
    }
}
