import FileProvider
import Foundation
import HTTPTransport
import Hashing
import NIOCore
import Surroundings

/// An object with its metadata.
struct S3Head: Sendable {
    var object: S3Object
    var metadata: S3Metadata
    var headers: S3ObjectHeaders
    /// Of the whole contents, where the server keeps one and was asked for it.
    var checksum: S3Checksum?
    /// An archived object of which the store has a readable copy for a while.
    var isRestored = false

    /// The same contents: of two equal objects that the server encrypts with a key of KMS, the entity tags differ, and
    /// their checksums do not.
    func hasContents(of other: S3Head) -> Bool {
        object.size == other.object.size
            && (object.entityTag == other.object.entityTag || checksum != nil && checksum == other.checksum)
    }

    /// Whether this may be a copy of another object.
    ///
    /// - Parameter metadata: what the copy has instead of the source's.
    func isCopy(of source: S3Head, with metadata: S3Metadata? = nil) -> Bool {
        hasContents(of: source) && self.metadata == metadata ?? source.metadata
    }
}

/// The condition of a change.
enum S3Condition: Sendable {
    case none
    /// No object has the key.
    case absent
    /// The object has this entity tag, without quotes.
    case tag(String)

    /// Whether a bucket checks it that keeps these kinds of conditions.
    func isKept(absent: Bool, match: Bool) -> Bool {
        switch self {
        case .none: true
        case .absent: absent
        case .tag: match
        }
    }
}

/// Requests for one object.
extension S3Client {
    /// HEAD: nil: no such object.
    func head(_ key: String) async throws(FileProviderError) -> S3Head? {
        switch try await headOutcome(key) {
        case .success(let head): return head
        case .refused(let refusal):
            if refusal.status == 404 { return nil }
            throw failure(refusal, key)
        }
    }

    /// HEAD. A refusal is one of this object: a refused key, and a wrong clock, are thrown.
    func headOutcome(_ key: String) async throws(FileProviderError) -> Outcome<S3Head> {
        let request = Request(
            method: "HEAD", key: key, headers: [("x-amz-checksum-mode", "ENABLED")], retries: .always)
        let look = { () async throws(FileProviderError) -> Outcome<S3Head> in
            try await exchange(request) { reply -> S3Head in try Self.head(key, reply, self) }
        }
        let first = try await look()
        // (The answer to a HEAD has no body, and so does not say why. The answer to a listing does, and the chain of
        // credentials hears of it.)
        guard case .refused(let refusal) = first, refusal.code.isEmpty, [400, 403].contains(refusal.status) else {
            return first
        }
        _ = try await list(key, isFlat: true, limit: 1)
        return try await look()
    }

    static func head(_ key: String, _ reply: HTTPReply, _ client: S3Client) throws -> S3Head {
        guard let tag = reply.field("ETag"), let size = reply.contentLength, size >= 0,
            let date = reply.field("Last-Modified").flatMap(HTTPDate.parse)
        else {
            throw FileProviderError(
                .serverUnreachable,
                "\(client.describe(key)): the answer is not an object's; if this network wants you to sign in, do so")
        }
        return S3Head(
            object: S3Object(
                key: key, size: size, entityTag: S3ListingReader.unquoted(tag),
                modified: FileTime(seconds: date), storageClass: reply.field("x-amz-storage-class")),
            metadata: S3Metadata(reply), headers: S3ObjectHeaders(reply), checksum: S3Checksum(reply),
            isRestored: reply.field("x-amz-restore")?.contains("ongoing-request=\"false\"") ?? false)
    }

    /// PUT of a whole object.
    ///
    /// - Returns: the object's entity tag, without quotes.
    func put(
        _ key: String, _ body: Request.Body, sha256: [UInt8], metadata: S3Metadata = S3Metadata(),
        _ object: S3ObjectHeaders, condition: S3Condition, quotesTags: Bool = true
    ) async throws(FileProviderError) -> Outcome<String?> {
        var headers = metadata.headers + object.headers + Self.headers(condition, quotesTags: quotesTags)
        headers.append(("x-amz-checksum-sha256", Self.base64(sha256)))
        let request = Request(method: "PUT", key: key, headers: headers, body: body, isTransfer: true)
        return try await exchange(request) { reply -> String? in
            _ = try? await reply.prefix(64 << 10)
            return Self.tag(reply.field("ETag"))
        }
    }

    /// DELETE. Servers answer success for an object that is not there.
    ///
    /// - Parameter version: delete this version for good; nil: a bucket with versions keeps all of them.
    /// - Returns: the version that marks the deletion; nil: the bucket keeps no versions.
    @discardableResult
    func delete(
        _ key: String, condition: S3Condition = .none, version: String? = nil
    ) async throws(FileProviderError) -> Outcome<String?> {
        let request = Request(
            method: "DELETE", key: key, query: version.map { [("versionId", $0)] } ?? [],
            headers: Self.headers(condition))
        return try await exchange(request) { reply -> String? in
            _ = try? await reply.prefix(64 << 10)
            return reply.field("x-amz-version-id")
        }
    }

    /// CopyObject.
    ///
    /// - Parameters:
    ///   - metadata: replaces the source's; nil: the copy has the source's.
    ///   - sourceHeader: the header with the source's entity tag that must be there; nil: the server knows none.
    /// - Returns: the copy's entity tag.
    func copy(
        _ source: S3Head, to key: String, metadata: S3Metadata? = nil, condition: S3Condition, sourceHeader: String?
    ) async throws(FileProviderError) -> Outcome<String?> {
        var headers = Self.headers(condition) + copyHeaders(source, sourceHeader)
        if let metadata {
            headers.append(("x-amz-metadata-directive", "REPLACE"))
            headers += metadata.headers + source.headers.headers
        } else {
            // (A copy has the bucket's usual class and encryption otherwise.)
            headers += source.headers.headers.filter { name, _ in
                name == "x-amz-storage-class" || name.hasPrefix("x-amz-server-side-encryption")
            }
        }
        return try await copy(Request(method: "PUT", key: key, headers: headers, takesLong: true))
    }

    /// UploadPartCopy.
    func copyPart(
        _ source: S3Head, _ range: Range<Int64>, to key: String, _ id: String, _ number: Int, sourceHeader: String?
    ) async throws(FileProviderError) -> Outcome<String?> {
        var headers = copyHeaders(source, sourceHeader)
        headers.append(("x-amz-copy-source-range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"))
        return try await copy(
            Request(
                method: "PUT", key: key, query: [("partNumber", "\(number)"), ("uploadId", id)], headers: headers,
                takesLong: true))
    }

    private func copyHeaders(_ source: S3Head, _ name: String?) -> [(name: String, value: String)] {
        var headers = [(name: "x-amz-copy-source", value: copySource(source.object.key))]
        if let name { headers.append((name, "\"\(source.object.entityTag)\"")) }
        return headers
    }

    private func copy(_ request: Request) async throws(FileProviderError) -> Outcome<String?> {
        try await exchange(request) { reply -> String? in
            // A copy that takes its time answers 200 at once, and says in the body what became of it.
            let answer = try await Self.result(reply, describe(request))
            return Self.tag(answer["CopyObjectResult/ETag"] ?? answer["CopyPartResult/ETag"])
        }
    }

    private static let longestResult = Duration.seconds(3_600)

    func copySource(_ key: String) -> String {
        let parts = key.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let path = parts.map { PercentCoding.encode($0) }.joined(separator: "/")
        return "/\(PercentCoding.encode(address.bucket.utf8))/\(path)"
    }

    /// The whole answer to a request that takes its time: the server may send blanks for minutes before the result.
    ///
    /// - Throws: when it tells of a failure, or breaks off before the result.
    static func result(_ reply: HTTPReply, _ what: String) async throws -> S3Answer {
        let start = ContinuousClock.now
        var bytes: [UInt8] = []
        for try await buffer in reply.body {
            bytes += buffer.readableBytesView
            guard bytes.count <= 1 << 20, start.duration(to: .now) < longestResult else { break }
        }
        guard let answer = try? S3Answer(Array(bytes.drop { $0 <= 32 })) else {
            throw FileProviderError(.cannotSynchronize, "\(what): the server's answer has no result")
        }
        if let code = answer["Error/Code"] {
            throw FileProviderError(.cannotSynchronize, "\(what): the server could not finish this (\(code))")
        }
        return answer
    }

    static func headers(_ condition: S3Condition, quotesTags: Bool = true) -> [(name: String, value: String)] {
        switch condition {
        case .none: []
        case .absent: [("If-None-Match", "*")]
        case .tag(let tag): [("If-Match", quotesTags ? "\"\(tag)\"" : tag)]
        }
    }

    /// An entity tag without its quotes; nil: there is none. (Ceph RGW 16 completes an upload in parts with an empty one.)
    static func tag(_ text: String?) -> String? {
        guard let text, !text.isEmpty else { return nil }
        return S3ListingReader.unquoted(text)
    }

    static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
}
