import AsyncHTTPClient
package import FileProvider
package import NIOCore
package import NIOHTTP1

/// A request that can be sent again: its body can be read more than once.
package struct HTTPRequest: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// A part of a document, read while it is sent.
        case content(any ContentSource, Range<Int64>)
    }
    package var method: String
    package var location: HTTPLocation
    package var headers: [(name: String, value: String)]
    package var body: Body?
    /// A transfer of a document's bytes, in either direction, which takes its time.
    package var isTransfer: Bool
    package var retries: Retries
    /// Otherwise the caller gets the answer that redirects.
    package var followsRedirections: Bool
    /// The request proves by itself who sends it: the transport's credential has no part in an answer of 401, which the
    /// caller gets.
    package var hasOwnSignature = false
    /// Called when the request is about to be sent, each time: for what is true for a while only, as a signature.
    package var finish: (@Sendable (HTTPRequest) async throws -> HTTPRequest)?

    /// When the transport sends a request again that got no answer.
    package enum Retries: Sendable {
        /// As long as it waits for the server, even when the outcome of an attempt is unknown.
        case always
        /// As long, when the server cannot have received the request; otherwise a few times, where the connection ended
        /// without a byte: the request's conditions must make that harmless.
        case ifHarmless
        /// The caller asks again by itself (a read of a document's bytes). The transport sends it again once, where the
        /// connection ended without a byte: it may be a kept one that the server has closed meanwhile.
        case never
        /// Never: each request that arrives has an effect of its own. The caller finds out what became of it.
        case once
    }

    package init(
        _ method: String, _ location: HTTPLocation, headers: [(name: String, value: String)] = [], body: Body? = nil,
        isTransfer: Bool = false, retries: Retries = .ifHarmless, followsRedirections: Bool = true
    ) {
        self.method = method
        self.location = location
        self.headers = headers
        self.body = body
        self.isTransfer = isTransfer
        self.retries = retries
        self.followsRedirections = followsRedirections
    }

    /// Sending it again at once would be expensive: the server may have closed the connection because the body is too
    /// large.
    var isLong: Bool {
        if case .content(_, let range)? = body { range.count > 1 << 20 } else { false }
    }
}

/// The head of an answer, and its body as it arrives.
package struct HTTPReply: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    /// The place that answered, after redirections.
    package let location: HTTPLocation
    package let body: HTTPBody

    private static let longestPrefix = Duration.seconds(30)

    /// The value of a field that has one value; of several, the first.
    package func field(_ name: String) -> String? { headers.first(name: name) }

    /// The values of a list field, also over several lines, without surrounding white space.
    package func list(_ name: String) -> [String] {
        headers[name].flatMap { $0.split(separator: ",") }.map { String($0).trimmingASCIIWhitespace() }
    }

    /// The encoding of the body (RFC 9110, 8.4); nil: none, as requested.
    package var encoding: String? {
        let encodings = list("Content-Encoding").map { $0.lowercased() }.filter { !$0.isEmpty && $0 != "identity" }
        return encodings.isEmpty ? nil : encodings.joined(separator: ", ")
    }

    /// The length of the body, as it is sent; nil: not given.
    package var contentLength: Int64? { field("Content-Length").flatMap { Int64($0) } }

    /// `text/html`, in lower case, without parameters.
    package var mediaType: String? {
        field("Content-Type")?.split(separator: ";").first.map { String($0).trimmingASCIIWhitespace().lowercased() }
    }

    /// The first bytes of the body, for messages and small answers; does not read the rest, nor bytes that arrive too
    /// slowly.
    package func prefix(_ count: Int) async throws -> [UInt8] {
        let start = ContinuousClock.now
        var bytes: [UInt8] = []
        for try await buffer in body {
            bytes += buffer.readableBytesView
            if bytes.count >= count || start.duration(to: .now) > Self.longestPrefix { break }
        }
        return Array(bytes.prefix(count))
    }
}

/// An answer's body, as it arrives; a reader that stops before the end gives up the connection.
package struct HTTPBody: AsyncSequence, Sendable {
    private let base: HTTPClientResponse.Body
    init(_ base: HTTPClientResponse.Body) { self.base = base }

    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: HTTPClientResponse.Body.AsyncIterator
        package mutating func next() async throws -> ByteBuffer? { try await base.next() }
    }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }
}

/// A request's body, read at the pace of the connection.
struct ContentBody: AsyncSequence, Sendable {
    let source: any ContentSource
    let range: Range<Int64>
    static let piece = 256 << 10

    struct AsyncIterator: AsyncIteratorProtocol {
        let source: any ContentSource
        var offset: Int64
        let end: Int64

        mutating func next() async throws -> ByteBuffer? {
            guard offset < end else { return nil }
            let bytes = try await source.read(at: offset, upTo: Int(Swift.min(Int64(ContentBody.piece), end - offset)))
            // The announced length must be sent: cutting the connection leaves the store as it was.
            guard !bytes.isEmpty else {
                throw FileProviderError(
                    .cannotSynchronize, "the body ends at byte \(offset), not \(end)")
            }
            offset += Int64(bytes.count)
            return ByteBuffer(bytes: bytes)
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(source: source, offset: range.lowerBound, end: range.upperBound)
    }
}
