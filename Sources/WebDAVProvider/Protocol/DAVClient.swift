import FileProvider
import HTTPTransport
import Logging
import NIOCore
import Synchronization
import Waiting
import XMLStream

/// The methods of WebDAV (RFC 4918), without their meaning for Hydrant.
struct DAVClient: Sendable {
    let transport: HTTPTransport
    let logger: Logger
    let turns = FolderTurns()
    let sights = FolderSights()
    private let lockLane = AsyncSemaphore(1)
    private let unknown = Unknown()

    /// Properties that the server is known to lack, and the form of a target that it understands.
    private final class Unknown: Sendable {
        let properties = Mutex<Set<DAVProperty>>(DAVProperty.ofClouds.union(DAVProperty.ofLocks))
        let form = Mutex(TargetForm.url)
    }

    private let settings: WebDAVSettings

    init(transport: HTTPTransport, settings: WebDAVSettings, logger: Logger) {
        self.transport = transport
        self.settings = settings
        self.logger = logger
    }

    /// The outcome of a request whose answer has no body worth reading.
    struct Outcome: Sendable {
        var status: Int
        var entityTag: Validator?
        /// Without its angle brackets.
        var lockToken: String?
        /// A lock of another client is in the way: on the place, or on its folder (Apache uses another status for
        /// that).
        var isLocked = false
        var isSuccess: Bool { status == 200 || status == 201 || status == 204 }
    }

    /// Sends a request that changes something, or whose answer is all in its head.
    func send(_ request: HTTPRequest) async throws(FileProviderError) -> Outcome {
        try await transport.exchange(request) { reply in
            // Read to its end, so that the connection can be used again.
            let body = try? await reply.prefix(64 << 10)
            // A sign-in page answers 200 to everything.
            if reply.status == 200, reply.mediaType == "text/html", request.method != "OPTIONS" {
                throw Self.page(request.location)
            }
            let isLocked =
                switch reply.status {
                case 423, 424: true
                case 207: body.map { String(decoding: $0, as: UTF8.self).contains(" 423 ") } ?? false
                default: false
                }
            return Outcome(
                status: reply.status, entityTag: reply.field("ETag").flatMap { Validator(tag: $0) },
                lockToken: reply.field("Lock-Token").map { $0.filter { $0 != "<" && $0 != ">" && $0 != " " } },
                isLocked: isLocked)
        }
    }

    /// As ``send(_:)``, for requests that must run one at a time.
    func alone(_ request: HTTPRequest) async throws(FileProviderError) -> Outcome {
        do { try await lockLane.enter() } catch {
            throw FileProviderError(.cancelled, "\(request.location): given up")
        }
        defer { lockLane.leave() }
        return try await send(request)
    }

    /// As ``send(_:)``, for changes of folders: with our locks on them. Waits a moment for locks of other clients, and
    /// of an upload just before.
    func change(_ request: HTTPRequest, in folders: [HTTPLocation]) async throws(FileProviderError) -> Outcome {
        for _ in 0..<40 {
            let outcome = try await turns.withLocks(on: folders, self) { locks throws(FileProviderError) in
                try await send(request.with(locks))
            }
            guard outcome.isLocked else { return outcome }
            if let error = await lockError(at: request.location) { throw error }
            do { try await Task.sleep(for: .milliseconds(150)) } catch {
                throw FileProviderError(.cancelled, "\(request.location): given up")
            }
        }
        throw FileProviderError(.busy, "\(request.location): is locked by another program")
    }

    /// The form of a target in `Destination` (RFC 4918, 10.3). Behind a proxy a server may not know its own name, or
    /// that it is reached over https, and takes a target for another server's.
    enum TargetForm: CaseIterable {
        /// The URL as used from here: all servers understand it that are reached directly.
        case url
        /// Without a host (most servers, but not Apache).
        case path
        /// Over http at the usual port: for Apache behind a proxy that ends TLS.
        case plain

        func text(_ target: HTTPLocation) -> String {
            switch self {
            case .url: target.url
            case .path: target.path
            case .plain: "http://\(target.origin.host)\(target.path)"
            }
        }
    }

    /// The value of `Destination`.
    func destination(_ target: HTTPLocation) -> String { unknown.form.withLock { $0 }.text(target) }

    /// MOVE (RFC 4918, 9.9), or COPY.
    ///
    /// - Throws: ``FileProviderError/Code/cannotSynchronize`` when the server takes every form for another server.
    func move(
        _ source: HTTPLocation, to target: HTTPLocation, method: String = "MOVE", overwrites: Bool = false,
        _ conditions: [(name: String, value: String)] = []
    ) async throws(FileProviderError) -> Outcome {
        let first = unknown.form.withLock { $0 }
        for form in [first] + TargetForm.allCases.filter({ $0 != first }) {
            let headers = [("Destination", form.text(target)), ("Overwrite", overwrites ? "T" : "F")] + conditions
            let outcome = try await change(
                HTTPRequest(method, source, headers: headers), in: Array(Set([source.folder, target.folder])))
            // 502: the target is on another server (9.9.4). Apache answers 400 to a target that is not a URL.
            if outcome.status == 502 || outcome.status == 400 && form != first { continue }
            if form != first {
                logger.info(
                    "the server needs another form of targets",
                    metadata: ["url": "\(source.origin)", "form": "\(form)"])
                unknown.form.withLock { $0 = form }
            }
            return outcome
        }
        // The server answers other requests.
        guard try await propfind(source, [.resourceType, .lastModified]) != nil else { return Outcome(status: 404) }
        throw FileProviderError(
            .cannotSynchronize,
            "\(target): the server takes this for another server's place (502), since a proxy changes the host or the "
                + "protocol; let the proxy pass on the header Host, and set the server's own URL")
    }

    static func page(_ place: HTTPLocation) -> FileProviderError {
        FileProviderError(
            .serverUnreachable,
            "\(place.origin): answers with a web page; check the URL of the WebDAV folder, or sign in to this "
                + "network first")
    }

    // MARK: Looking

    /// These properties are not requested any more.
    func leaveOut(_ properties: Set<DAVProperty>) { unknown.properties.withLock { $0 = properties } }

    /// These properties are requested from now on.
    func include(_ properties: Set<DAVProperty>) { unknown.properties.withLock { $0.subtract(properties) } }

    func asks(for property: DAVProperty) -> Bool { unknown.properties.withLock { !$0.contains(property) } }

    /// The body of a PROPFIND for these properties, without those that the server lacks.
    func question(_ properties: [DAVProperty]) -> [UInt8] {
        let unknown = unknown.properties.withLock { $0 }
        return DAVProperty.question(properties.filter { !unknown.contains($0) })
    }

    enum Depth: String { case itself = "0", children = "1" }

    /// Passes on the server's responses for a place, and for its children, in pieces, as they arrive.
    ///
    /// - Parameter ofAll: ask also for properties that this server may lack.
    /// - Returns: false: nothing is at this place.
    func list(
        _ place: HTTPLocation, _ depth: Depth, _ properties: [DAVProperty] = DAVProperty.ofItems, ofAll: Bool = false,
        _ each: ([DAVResponse]) async throws -> Void
    ) async throws(FileProviderError) -> Bool {
        let request = HTTPRequest(
            "PROPFIND", place,
            headers: [("Depth", depth.rawValue), ("Content-Type", "application/xml; charset=utf-8")],
            body: .bytes(ofAll ? DAVProperty.question(properties) : question(properties)), retries: .always)
        return try await transport.exchange(request) { reply in
            if reply.status == 404 {
                _ = try? await reply.prefix(64 << 10)
                return false
            }
            try await read(reply, "\(place)", each)
            return true
        }
    }

    /// Reads a 207 answer.
    ///
    /// - Returns: the token of a `sync-collection` report.
    @discardableResult
    func read(
        _ reply: HTTPReply, _ what: String, _ each: ([DAVResponse]) async throws -> Void
    ) async throws -> String? {
        guard reply.status == 207 else { throw try await refusal(reply, what) }
        if let encoding = reply.encoding { throw Self.encoded(encoding, what) }
        let reader = MultistatusReader()
        let start = ContinuousClock.now
        var (count, size) = (0, 0)
        do {
            for try await buffer in reply.body {
                let responses = try buffer.withUnsafeReadableBytes { try reader.feed($0) }
                count += responses.count
                size = responses.reduce(size) { $0 + $1.size }
                guard count <= settings.mostEntries, size <= Self.mostText else {
                    throw BadXML("it has more than \(settings.mostEntries) entries, or 256 MiB of names")
                }
                guard start.duration(to: .now) < .seconds(settings.http.listingTimeout) else {
                    throw FileProviderError(
                        .cannotSynchronize,
                        "\(what): the server's answer did not end within \(settings.http.listingTimeout) s")
                }
                if !responses.isEmpty { try await each(responses) }
            }
            try reader.finish()
            return reader.syncToken
        } catch let error as BadXML {
            if reply.mediaType == "text/html" { throw Self.page(reply.location) }
            throw FileProviderError(.cannotSynchronize, "\(what): the server's answer cannot be read: \(error)")
        }
    }

    /// In bytes, of one answer.
    private static let mostText = 256 << 20

    /// Compression was not requested, and a small answer may become very large.
    static func encoded(_ encoding: String, _ what: String) -> FileProviderError {
        FileProviderError(
            .cannotSynchronize,
            "\(what): the server's answer is compressed (\(encoding.prefix(40))), unasked; turn this off on the server, or "
                + "in the proxy before it")
    }

    /// The error for a PROPFIND that failed.
    private func refusal(_ reply: HTTPReply, _ what: String) async throws -> FileProviderError {
        _ = try? await reply.prefix(64 << 10)
        if let error = HTTPFailure.error(status: reply.status, what, reply.location.origin) { return error }
        if reply.status == 200 { return Self.page(reply.location) }
        return FileProviderError(.cannotSynchronize, "\(what): the server answers \(reply.status) to PROPFIND")
    }

    /// The server's response for one place; nil: nothing is there.
    func propfind(
        _ place: HTTPLocation, _ properties: [DAVProperty] = DAVProperty.ofItems, ofAll: Bool = false
    ) async throws(FileProviderError) -> DAVResponse? {
        var first: DAVResponse?
        let isThere: Bool
        do throws(FileProviderError) {
            isThere = try await list(place, .itself, properties, ofAll: ofAll) { first = first ?? $0.first }
        } catch {
            // A server may fail because of another client's change.
            guard error.code == .cannotSynchronize else { throw error }
            first = nil
            isThere = try await list(place, .itself, properties, ofAll: ofAll) { first = first ?? $0.first }
        }
        guard isThere else { return nil }
        guard let response = first else {
            throw FileProviderError(.cannotSynchronize, "\(place): the server's answer does not mention it")
        }
        if response.isNothing { return nil }
        return response
    }

    /// As ``propfind(_:_:)``, parsed.
    func resource(_ place: HTTPLocation) async throws(FileProviderError) -> DAVResource? {
        guard let response = try await propfind(place) else { return nil }
        let resource: DAVResource
        // (The answer is about the requested place, whatever path it names.)
        let host = place.resolve(response.href)?.origin.host ?? place.origin.host
        do { resource = try DAVResource(response, on: place, named: host) } catch {
            throw FileProviderError(.cannotSynchronize, "\(place): the server's answer cannot be used: \(error)")
        }
        // On a server that cuts names, this would change another document.
        if let asked = place.components.last, let answered = resource.location.components.last,
            NamePart.isAltered(asked, answered)
        {
            throw FileProviderError(
                .invalidName,
                "“\(Filename(bytes: asked))”: the server takes this name for “\(Filename(bytes: answered))”; rename it there"
            )
        }
        return resource
    }
}
