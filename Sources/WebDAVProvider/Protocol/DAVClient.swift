import FileProvider
import HTTPTransport
import Logging
import NIOCore
import Synchronization

/// The methods of WebDAV (RFC 4918): what they mean is for others to say.
struct DAVClient: Sendable {
    let transport: HTTPTransport
    let logger: Logger
    let turns = FolderTurns()
    private let lockLane = Lanes(1)
    private let unknown = Unknown()

    /// What the server is known not to have.
    private final class Unknown: Sendable {
        let properties = Mutex<Set<DAVProperty>>([])
    }

    init(transport: HTTPTransport, logger: Logger) {
        self.transport = transport
        self.logger = logger
    }

    /// What became of a request without an answer worth reading.
    struct Outcome: Sendable {
        var status: Int
        var entityTag: Validator?
        /// Without its angle brackets.
        var lockToken: String?
        /// Somebody's lock stands in the way: on the place, or on the folder that it is in, which Apache calls otherwise.
        var isLocked = false
        var isSuccess: Bool { status == 200 || status == 201 || status == 204 }
    }

    /// Sends a request that changes something, or whose answer is in its head.
    func send(_ request: HTTPRequest) async throws(FileProviderError) -> Outcome {
        try await transport.exchange(request) { reply in
            // Read to its end, so that the connection can be used again.
            let body = try? await reply.prefix(64 << 10)
            // A page that asks for a password says 200 to everything.
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

    /// The same, of what no other of its kind may run beside.
    func alone(_ request: HTTPRequest) async throws(FileProviderError) -> Outcome {
        do { try await lockLane.enter() } catch {
            throw FileProviderError(.cancelled, "\(request.location): given up")
        }
        defer { lockLane.leave() }
        return try await send(request)
    }

    /// The same, of what changes folders: with the locks that we have on them. Those of others, and of an upload just
    /// before, are waited for a moment.
    func change(_ request: HTTPRequest, in folders: [HTTPLocation]) async throws(FileProviderError) -> Outcome {
        for _ in 0..<40 {
            let outcome = try await turns.withLocks(on: folders, self) { locks throws(FileProviderError) in
                try await send(request.with(locks))
            }
            guard outcome.isLocked else { return outcome }
            do { try await Task.sleep(for: .milliseconds(150)) } catch {
                throw FileProviderError(.cancelled, "\(request.location): given up")
            }
        }
        throw FileProviderError(.busy, "\(request.location): is locked by somebody")
    }

    /// MOVE (RFC 4918, 9.9), or COPY.
    func move(
        _ source: HTTPLocation, to target: HTTPLocation, method: String = "MOVE", overwrites: Bool = false,
        _ conditions: [(name: String, value: String)] = []
    ) async throws(FileProviderError) -> Outcome {
        let headers = [("Destination", target.url), ("Overwrite", overwrites ? "T" : "F")] + conditions
        return try await change(
            HTTPRequest(method, source, headers: headers), in: Array(Set([source.folder, target.folder])))
    }

    static func page(_ place: HTTPLocation) -> FileProviderError {
        FileProviderError(
            .serverUnreachable,
            "\(place.origin) answers with a web page: is this the URL of a WebDAV folder? Or does this network want you to "
                + "sign in first?")
    }

    // MARK: Looking

    /// From now on these are not asked for.
    func leaveOut(_ properties: Set<DAVProperty>) { unknown.properties.withLock { $0 = properties } }

    /// The body of a PROPFIND for these, as far as the server may have them.
    func question(_ properties: [DAVProperty]) -> [UInt8] {
        let unknown = unknown.properties.withLock { $0 }
        return DAVProperty.question(properties.filter { !unknown.contains($0) })
    }

    enum Depth: String { case itself = "0", children = "1" }

    /// Hands over what the server says of a place, and of what is in it, in pieces, as it comes.
    ///
    /// - Returns: false: there is nothing at this place.
    func list(
        _ place: HTTPLocation, _ depth: Depth, _ properties: [DAVProperty] = DAVProperty.ofItems,
        _ each: ([DAVResponse]) async throws -> Void
    ) async throws(FileProviderError) -> Bool {
        let request = HTTPRequest(
            "PROPFIND", place,
            headers: [("Depth", depth.rawValue), ("Content-Type", "application/xml; charset=utf-8")],
            body: .bytes(question(properties)), isRepeatable: true)
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
        let reader = MultistatusReader()
        do {
            for try await buffer in reply.body {
                let responses = try buffer.withUnsafeReadableBytes { try reader.feed($0) }
                if !responses.isEmpty { try await each(responses) }
            }
            try reader.finish()
            return reader.syncToken
        } catch let error as BadXML {
            if reply.mediaType == "text/html" { throw Self.page(reply.location) }
            throw FileProviderError(.cannotSynchronize, "\(what): the server's answer cannot be read: \(error)")
        }
    }

    /// Why a question was not answered.
    private func refusal(_ reply: HTTPReply, _ what: String) async throws -> FileProviderError {
        _ = try? await reply.prefix(64 << 10)
        if let error = HTTPFailure.error(status: reply.status, what, reply.location.origin) { return error }
        if reply.status == 200 { return Self.page(reply.location) }
        return FileProviderError(.cannotSynchronize, "\(what): the server answers \(reply.status) to PROPFIND")
    }

    /// What the server says of one place; nil: there is nothing.
    func look(
        _ place: HTTPLocation, _ properties: [DAVProperty] = DAVProperty.ofItems
    ) async throws(FileProviderError) -> DAVResponse? {
        var first: DAVResponse?
        let isThere: Bool
        do throws(FileProviderError) {
            isThere = try await list(place, .itself, properties) { first = first ?? $0.first }
        } catch {
            // A server may stumble over what somebody else is doing there.
            guard error.code == .cannotSynchronize else { throw error }
            first = nil
            isThere = try await list(place, .itself, properties) { first = first ?? $0.first }
        }
        guard isThere else { return nil }
        guard let response = first else {
            throw FileProviderError(.cannotSynchronize, "\(place): the server says nothing of it")
        }
        if response.isNothing { return nil }
        return response
    }

    /// As ``look(_:_:)``, taken as what it is.
    func resource(_ place: HTTPLocation) async throws(FileProviderError) -> DAVResource? {
        guard let response = try await look(place) else { return nil }
        do { return try DAVResource(response, on: place) } catch {
            throw FileProviderError(.cannotSynchronize, "\(place): the server's answer cannot be used: \(error)")
        }
    }
}
