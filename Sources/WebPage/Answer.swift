import Foundation
import NIOCore
import NIOHTTP1

/// A request that is refused or failed.
struct WebProblem: Error {
    var status: HTTPResponseStatus
    /// For people.
    var message: String
    /// For the page's script.
    var code: String

    init(_ status: HTTPResponseStatus, _ message: String? = nil, code: String = "") {
        self.status = status
        self.message = message ?? status.reasonPhrase
        self.code = code
    }
}

/// Sends the answer to one request.
struct Answer {
    typealias Writer = NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
    private let writer: Writer
    private let keepsAlive: Bool

    init(_ writer: Writer, keepsAlive: Bool) {
        self.writer = writer
        self.keepsAlive = keepsAlive
    }

    /// Nothing from elsewhere runs, nothing is framed, and what comes is what its type says; no answer is kept on a disk.
    static let safeguards: [(String, String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
        ),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cache-Control", "no-store"),
    ]

    func send(json value: some Encodable) async throws {
        try await send(try Self.encode(value), type: "application/json")
    }

    func send(_ problem: WebProblem) async throws {
        let body = try Self.encode(["error": problem.message, "code": problem.code])
        try await send(body, type: "application/json", status: problem.status, closes: true)
    }

    func send(
        _ bytes: [UInt8], type: String, status: HTTPResponseStatus = .ok, isHead: Bool = false, closes: Bool = false
    ) async throws {
        var headers = Self.headers(type, closes: closes || !keepsAlive)
        headers.add(name: "Content-Length", value: "\(bytes.count)")
        try await writer.write(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers)))
        if !isHead && !bytes.isEmpty { try await writer.write(.body(.byteBuffer(ByteBuffer(bytes: bytes)))) }
        try await writer.write(.end(nil))
    }

    /// An answer of lines of JSON that come as they are made. The body fails when the client has hung up.
    func stream(_ body: (_ line: (any Encodable) async throws -> Void) async throws -> Void) async throws {
        var headers = Self.headers("application/x-ndjson", closes: !keepsAlive)
        headers.add(name: "Transfer-Encoding", value: "chunked")
        try await writer.write(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)))
        func line(_ value: any Encodable) async throws {
            let line = try Self.encode(value) + [UInt8(ascii: "\n")]
            try await writer.write(.body(.byteBuffer(ByteBuffer(bytes: line))))
        }
        do { try await body(line) } catch let problem as WebProblem {
            // (The status is sent already.)
            try await line(["error": problem.message, "code": problem.code])
        }
        try await writer.write(.end(nil))
    }

    private static func headers(_ type: String, closes: Bool) -> HTTPHeaders {
        var headers = HTTPHeaders(safeguards)
        headers.add(name: "Content-Type", value: type)
        if closes { headers.add(name: "Connection", value: "close") }
        return headers
    }

    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }
}
