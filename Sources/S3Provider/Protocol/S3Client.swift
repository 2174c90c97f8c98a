import FileProvider
import Foundation
import HTTPTransport
import Hashing
import Logging
import Surroundings
import Synchronization

/// Signed requests to one bucket.
struct S3Client: Sendable {
    let transport: HTTPTransport
    /// For requests that take long: ``Request/takesLong``.
    let patient: HTTPTransport
    /// In seconds, of ``patient``.
    private let longest: Double
    /// In seconds, of one part.
    let listingTimeout: Double
    let address: S3Address
    private let credentials: any S3CredentialSource
    private let endpoint: Endpoint
    private let isRequesterPays: Bool
    private let logger: Logger

    private final class Endpoint: Sendable {
        let state: Mutex<S3Endpoint>
        let hasVersions = Mutex(false)
        init(_ endpoint: S3Endpoint) { state = Mutex(endpoint) }
    }

    /// The number of attempts at a request that may soon succeed.
    private static let attempts = 6
    /// Seconds before the second attempt; twice as many before each later one.
    private static let firstPause = 0.2

    init(
        _ settings: S3Settings, address: S3Address, endpoint: S3Endpoint, credentials: any S3CredentialSource,
        logger: Logger
    ) throws(FileProviderError) {
        transport = try HTTPTransport(settings: settings.http, credentials: FixedCredential(nil), logger: logger)
        longest = settings.copyTimeout
        listingTimeout = settings.http.listingTimeout
        var patience = settings.http
        patience.idleTimeout = longest
        patient = try HTTPTransport(settings: patience, credentials: FixedCredential(nil), logger: logger)
        self.address = address
        self.endpoint = Endpoint(endpoint)
        self.credentials = credentials
        isRequesterPays = settings.isRequesterPays
        self.logger = logger
    }

    func shutdown() async {
        await transport.shutdown()
        await patient.shutdown()
    }

    struct Request: Sendable {
        enum Body: Sendable {
            case bytes([UInt8])
            /// A part of a document, with the SHA-256 of the part.
            case content(any ContentSource, Range<Int64>, sha256: [UInt8])
        }
        var method: String
        /// The object; nil: the bucket itself.
        var key: String?
        /// Not encoded.
        var query: [(name: String, value: String?)] = []
        var headers: [(name: String, value: String)] = []
        var body: Body?
        /// Another service of the same server (`sns`), which the request is for.
        var service: String?
        var isTransfer = false
        var retries = HTTPRequest.Retries.ifHarmless
        /// The server may work on it for minutes without sending a byte.
        var takesLong = false

        /// CompleteMultipartUpload: after a conflict all parts have to be sent anew (*CompleteMultipartUpload*,
        /// `ConditionalRequestConflict`).
        fileprivate var mayBeRepeated: Bool { method != "POST" || !query.contains { $0.name == "uploadId" } }
    }

    enum Outcome<Value: Sendable>: Sendable {
        case success(Value)
        case refused(S3Refusal)
    }

    /// Sends a request, again if the server is busy, and passes a successful answer to `take`.
    ///
    /// - Throws: where the refusal means the same for every request: no sign-in, no bucket, no network.
    func exchange<Value: Sendable>(
        _ request: Request, _ take: (HTTPReply) async throws -> Value
    ) async throws(FileProviderError) -> Outcome<Value> {
        var pause = Self.firstPause
        var (hasMoved, hasRenewed) = (false, false)
        for attempt in 1... {
            let keys = try await presentKeys()
            let refusal: S3Refusal
            switch try await once(request, take) {
            case .success(let value): return .success(value)
            case .refused(let answer): refusal = answer
            }
            if !hasMoved, let region = refusal.region, moves(to: region, refusal) {
                hasMoved = true
                continue
            }
            if !hasRenewed, let keys, Self.isOfKey(refusal), await credentials.refused(keys) {
                hasRenewed = true
                continue
            }
            if refusal.status == 409, !request.mayBeRepeated { return .refused(refusal) }
            guard refusal.mayPass, attempt < Self.attempts else {
                if let failure = general(refusal) { throw failure }
                return .refused(refusal)
            }
            do { try await Task.sleep(for: .seconds(pause * Double.random(in: 0.7...1.3))) } catch {
                throw FileProviderError(.cancelled, "\(describe(request)): given up")
            }
            pause *= 2
        }
        throw FileProviderError(.cannotSynchronize, "\(describe(request)): given up")
    }

    private func once<Value: Sendable>(
        _ request: Request, _ take: (HTTPReply) async throws -> Value
    ) async throws(FileProviderError) -> Outcome<Value> {
        let start = ContinuousClock.now
        let transport = request.takesLong ? patient : transport
        do throws(FileProviderError) {
            return try await transport.exchange(prepared(request)) { reply -> Outcome<Value> in
                if (200..<300).contains(reply.status) {
                    if ["PUT", "POST"].contains(request.method), let version = reply.field("x-amz-version-id"),
                        version != "null"
                    {
                        endpoint.hasVersions.withLock { $0 = true }
                    }
                    do { return .success(try await take(reply)) } catch { throw broken(error, request) }
                }
                let body = (try? await reply.prefix(64 << 10)) ?? []
                return .refused(
                    S3Refusal(status: reply.status, region: reply.field("x-amz-bucket-region"), body: body))
            }
        } catch {
            guard request.takesLong, error.code == .serverUnreachable, start.duration(to: .now) >= .seconds(longest)
            else { throw error }
            // (It is not away: it works on this, perhaps still.)
            throw FileProviderError(
                .cannotSynchronize, "\(describe(request)): the server has not finished this in \(Int(longest)) s")
        }
    }

    /// A server that breaks off a document that it sends is there, and is asked for the rest.
    private func broken(_ error: any Error, _ request: Request) -> any Error {
        guard request.method == "GET", request.isTransfer, !(error is FileProviderError) else { return error }
        let failure = HTTPFailure.error(error, endpoint.state.withLock { $0.origin })
        guard failure.code == .serverUnreachable else { return failure }
        return FileProviderError(
            .cannotSynchronize, "\(describe(request)): the transfer broke off: \(failure.message)", cause: error)
    }

    // MARK: Signing

    private func presentKeys() async throws(FileProviderError) -> S3Credentials? {
        do { return try await credentials.credentials() } catch let error as FileProviderError { throw error } catch {
            throw FileProviderError(.notAuthenticated, "\(error)")
        }
    }

    /// A request that is signed when it is sent: it may have to wait for a free connection, and a signature is valid for
    /// 15 minutes.
    private func prepared(_ request: Request) -> HTTPRequest {
        let endpoint = endpoint.state.withLock { $0 }
        let location = location(of: request, endpoint)
        var headers = request.headers
        if isRequesterPays { headers.append(("x-amz-request-payer", "requester")) }
        let body: HTTPRequest.Body?
        let digest: String
        switch request.body {
        case nil:
            body = nil
            digest = SignatureV4.emptyPayload
        case .bytes(let bytes):
            body = .bytes(bytes)
            digest = SHA256.hash(data: bytes).hexadecimal
        case .content(let source, let range, sha256: let sha256):
            body = .content(source, range)
            digest = sha256.hexadecimal
        }
        var prepared = HTTPRequest(
            request.method, location, headers: headers, body: body, isTransfer: request.isTransfer,
            retries: request.retries, followsRedirections: false)
        prepared.hasOwnSignature = true
        let (region, service) = (endpoint.region, request.service ?? "s3")
        prepared.finish = { try await sign($0, digest, region, service) }
        return prepared
    }

    private func sign(
        _ request: HTTPRequest, _ digest: String, _ region: String, _ service: String
    ) async throws(FileProviderError) -> HTTPRequest {
        guard let keys = try await presentKeys() else { return request }
        var request = request
        let signer = SignatureV4(keys, region: region, service: service, seconds: FileTime.present.seconds)
        request.headers.append(("x-amz-date", signer.date))
        request.headers.append(("x-amz-content-sha256", digest))
        if let token = keys.sessionToken { request.headers.append(("x-amz-security-token", token.revealed)) }
        let (value, _) = signer.authorization(
            request.method, request.location, headers: request.headers, payload: digest)
        request.headers.append(("Authorization", value))
        return request
    }

    private func location(of request: Request, _ endpoint: S3Endpoint) -> HTTPLocation {
        if request.service != nil {
            return HTTPLocation(origin: endpoint.origin, components: [], isFolder: true, query: nil)
        }
        let start: [[UInt8]] = endpoint.isPathStyle ? [Array(address.bucket.utf8)] : []
        let key = request.key ?? ""
        // (By bytes: for Swift's strings, a slash and an accent after it are one character.)
        // A key may have two slashes, one after the other.
        var parts = key.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Array($0) }
        if parts.last?.isEmpty ?? false { parts.removeLast() }
        let query = request.query.map { parameter -> String in
            let value = PercentCoding.encode((parameter.value ?? "").utf8)
            return "\(PercentCoding.encode(parameter.name.utf8))=\(value)"
        }
        return HTTPLocation(
            origin: endpoint.origin, components: start + parts, isFolder: S3Key.isFolder(key),
            query: query.isEmpty ? nil : query.joined(separator: "&"))
    }

    /// The bucket is in another region: from now on requests go there.
    ///
    /// - Returns: false when that is no news.
    private func moves(to region: String, _ refusal: S3Refusal) -> Bool {
        guard [301, 307, 400, 403].contains(refusal.status), S3Endpoint.isName(region) else { return false }
        return endpoint.state.withLock { endpoint -> Bool in
            guard region != endpoint.region else { return false }
            logger.info("the bucket is in another region", metadata: ["region": "\(region)"])
            endpoint.move(to: region, bucket: address.bucket)
            return true
        }
    }

    /// Whether the bucket has kept a version of what was sent.
    var hasVersions: Bool { endpoint.hasVersions.withLock { $0 } }

    /// Whether requests have the bucket in their path, and the server itself can be asked.
    var isPathStyle: Bool { endpoint.state.withLock { $0.isPathStyle } }

    // MARK: Refusals

    /// For people: the object, or the bucket.
    func describe(_ request: Request) -> String { describe(request.key) }
    func describe(_ key: String?) -> String { "s3://\(address.bucket)/\(key ?? "")" }

    /// The server does not take the access key, or does not take it any more. (S3 says so with 400 and 403; 401 comes from
    /// something on the way.)
    private static func isOfKey(_ refusal: S3Refusal) -> Bool {
        refusal.status == 401 || keyCodes.contains(refusal.code)
    }

    private static let keyCodes: Set<String> = [
        "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired",
        "InvalidClientTokenId",
    ]

    /// The error for a refusal that does not depend on the request.
    private func general(_ refusal: S3Refusal) -> FileProviderError? {
        let origin = endpoint.state.withLock { $0.origin }
        if Self.isOfKey(refusal) {
            let code = refusal.code.isEmpty ? "\(refusal.status)" : refusal.code
            return FileProviderError(
                .notAuthenticated, "\(origin): does not accept the access key (\(code)); sign in again")
        }
        switch refusal.code {
        case "RequestTimeTooSkewed":
            return FileProviderError(
                .serverUnreachable, "\(origin): the clock of this machine is more than 15 minutes wrong; set it")
        case "NoSuchBucket":
            return FileProviderError(
                .serverUnreachable, "\(origin): has no bucket “\(address.bucket)”; check its name and its region")
        case "QuotaExceeded", "XMinioStorageFull", "EntityTooLarge":
            return FileProviderError(.insufficientQuota, "\(origin): has no room (\(refusal.code))")
        default: break
        }
        if refusal.mayPass {
            var failure = FileProviderError(
                refusal.status == 500 ? .cannotSynchronize : .serverUnreachable,
                "\(origin): cannot answer just now (\(refusal.status) \(refusal.code))")
            // (So does a gateway that is up before the servers behind it.)
            failure.isTransient = [502, 503, 504].contains(refusal.status)
            return failure
        }
        return nil
    }

    func archived(_ key: String?) -> FileProviderError {
        FileProviderError(
            .unsupported,
            "\(describe(key)): is archived (GLACIER or DEEP_ARCHIVE), and must be restored before it can be read; restore "
                + "it with the store's own tool, and try again when it is done")
    }

    /// The error for a refusal of a request for one object.
    func failure(_ refusal: S3Refusal, _ key: String?) -> FileProviderError {
        let place = describe(key)
        let reason = refusal.message.isEmpty ? refusal.code : "\(refusal.code): \(refusal.message)"
        switch (refusal.status, refusal.code) {
        case (404, _): return FileProviderError(.noSuchItem, "\(place): is not in the bucket")
        case (_, "InvalidObjectState"): return archived(key)
        case (403, _), (401, _):
            return FileProviderError(.permissionDenied, "\(place): the server does not allow this (\(reason))")
        case (413, _): return FileProviderError(.insufficientQuota, "\(place): is too large for the server (\(reason))")
        case (400, "KeyTooLongError"), (400, "InvalidURI"), (400, "InvalidObjectName"):
            return FileProviderError(.invalidName, "\(place): the server takes no such name (\(reason)); rename it")
        case (501, _), (405, _):
            return FileProviderError(.unsupported, "\(place): the server cannot do this (\(reason))")
        default:
            return FileProviderError(
                .cannotSynchronize, "\(place): the server answers \(refusal.status) (\(reason))")
        }
    }
}

extension FileTime {
    /// CLOCK_REALTIME.
    static var present: FileTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return FileTime(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }
}
