import AsyncHTTPClient
package import FileProvider
package import NIOCore
package import NIOHTTP1

/// One request, as it is sent again where that is needed: its body can be read more than once.
package struct HTTPRequest: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// A part of a document, read as it is sent.
        case content(any ContentSource, Range<Int64>)
    }
    package var method: String
    package var location: HTTPLocation
    package var headers: [(name: String, value: String)]
    package var body: Body?
    /// Takes its time: a document's bytes, in either direction.
    package var isTransfer: Bool
    /// Whether it may be sent again, for as long as the server is waited for, when nobody knows what became of it. Others are
    /// sent again a few times, where the connection ended without a byte: their conditions must make that harmless.
    package var isRepeatable: Bool

    package init(
        _ method: String, _ location: HTTPLocation, headers: [(name: String, value: String)] = [], body: Body? = nil,
        isTransfer: Bool = false, isRepeatable: Bool = false
    ) {
        self.method = method
        self.location = location
        self.headers = headers
        self.body = body
        self.isTransfer = isTransfer
        self.isRepeatable = isRepeatable
    }

    /// To send it again at once would cost much: a server may have closed the connection since it does not want so much.
    var isLong: Bool {
        if case .content(_, let range)? = body { range.count > 1 << 20 } else { false }
    }
}

/// The head of an answer, and its body as it comes.
package struct HTTPReply: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    /// Who answered, after redirections.
    package let location: HTTPLocation
    package let body: HTTPBody

    private static let longestPrefix = Duration.seconds(30)

    /// The value of a field that has one value; of several, the first.
    package func field(_ name: String) -> String? { headers.first(name: name) }

    /// The values of a field that is a list, also over several lines, without what surrounds them.
    package func list(_ name: String) -> [String] {
        headers[name].flatMap { $0.split(separator: ",") }.map { String($0).trimmingASCIIWhitespace() }
    }

    /// How the body is encoded (RFC 9110, 8.4); nil: not at all, as it was asked for.
    package var encoding: String? {
        let encodings = list("Content-Encoding").map { $0.lowercased() }.filter { !$0.isEmpty && $0 != "identity" }
        return encodings.isEmpty ? nil : encodings.joined(separator: ", ")
    }

    /// Of the body, as it comes; nil: not said.
    package var contentLength: Int64? { field("Content-Length").flatMap { Int64($0) } }

    /// `text/html`, in lower case, without parameters.
    package var mediaType: String? {
        field("Content-Type")?.split(separator: ";").first.map { String($0).trimmingASCIIWhitespace().lowercased() }
    }

    /// The first bytes of the body, for messages and small answers; the rest is not read, nor what comes too slowly.
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

/// An answer's body, as it comes; whoever stops reading before its end gives the connection up.
package struct HTTPBody: AsyncSequence, Sendable {
    private let base: HTTPClientResponse.Body
    init(_ base: HTTPClientResponse.Body) { self.base = base }

    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: HTTPClientResponse.Body.AsyncIterator
        package mutating func next() async throws -> ByteBuffer? { try await base.next() }
    }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }
}

/// A request's body, read as the connection takes it.
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
            // What is announced must be sent: a connection that is cut off leaves the store as it was.
            guard !bytes.isEmpty else {
                throw FileProviderError(
                    .cannotSynchronize, "what is to be sent ends at byte \(offset) instead of \(end)")
            }
            offset += Int64(bytes.count)
            return ByteBuffer(bytes: bytes)
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(source: source, offset: range.lowerBound, end: range.upperBound)
    }
}
