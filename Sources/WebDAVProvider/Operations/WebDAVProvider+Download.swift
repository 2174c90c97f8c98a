package import FileProvider
import HTTPTransport
import NIOCore

extension WebDAVProvider {
    /// Asks once. The engine asks again (`ReadRetryPolicy`), for all stores alike.
    package func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        guard let wanted = Validator(version) else { throw gone(identifier) }
        let end = try await reach(identifier) { location throws(FileProviderError) in
            try await Download(
                provider: self, identifier: identifier, wanted: wanted, location: location, sink: sink
            )
            .run(range)
        }
        guard end < range.upperBound else { return }
        throw FileProviderError(.cannotSynchronize, "\(identifier): the transfer broke off at byte \(end)")
    }
}

/// One GET of one range.
private struct Download {
    let provider: WebDAVProvider
    let identifier: ItemIdentifier
    let wanted: Validator
    let location: HTTPLocation
    let sink: any ContentSink

    /// - Returns: the offset that was reached; nil: no document is at this place.
    func run(_ range: Range<Int64>) async throws(FileProviderError) -> Int64? {
        // The version is compared in the answer: with an If-Range that has Apache's weak tag of the first second, the
        // server would send the whole document instead of the range.
        let request = HTTPRequest(
            "GET", location,
            headers: [
                ("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"),
                // A proxy's cache may have an older version, under a tag of its own.
                ("Cache-Control", "no-cache"),
            ],
            isTransfer: true, retries: .never)
        var sinkFailure: FileProviderError?
        var hasBegun = false
        do throws(FileProviderError) {
            return try await provider.client.transport.exchange(request) { reply in
                guard let start = try await check(reply, range) else { return nil }
                hasBegun = true
                var position = start
                for try await buffer in reply.body {
                    let bytes = buffer.readableBytesView
                    // A server without ranges sends all from the beginning; surplus bytes are cut off.
                    let from = max(0, range.lowerBound - position)
                    let to = min(Int64(bytes.count), range.upperBound - position)
                    if from < to {
                        let piece = Array(bytes.dropFirst(Int(from)).prefix(Int(to - from)))
                        do throws(FileProviderError) { try await sink.write(piece, at: position + from) } catch {
                            sinkFailure = error
                            throw error
                        }
                    }
                    position += Int64(bytes.count)
                    if position >= range.upperBound { break }
                }
                return min(position, range.upperBound)
            }
        } catch {
            if let sinkFailure { throw sinkFailure }
            // A connection that was never made is an error of another kind.
            guard error.code == .serverUnreachable, hasBegun else { throw error }
            throw FileProviderError(.cannotSynchronize, "\(location): the transfer broke off: \(error.message)")
        }
    }

    /// - Returns: the offset of the first byte to come; nil: no document is at this place.
    private func check(_ reply: HTTPReply, _ range: Range<Int64>) async throws -> Int64? {
        switch reply.status {
        case 200, 206: break
        case 404, 410:
            _ = try? await reply.prefix(64 << 10)
            return nil
        default:
            _ = try? await reply.prefix(64 << 10)
            let what = provider.refusal(reply.status, Filename(bytes: location.components.last ?? []))
            // 412 and 416: the document is shorter by now.
            guard reply.status == 412 || reply.status == 416 else { throw what }
            try await compare(nil, size: nil)
            throw what
        }
        try await compare(validator(of: reply), size: Self.total(reply), encoding: reply.encoding)
        guard reply.status == 206 else { return 0 }
        guard let start = Self.start(reply.field("Content-Range")), start <= range.lowerBound else {
            throw FileProviderError(
                .cannotSynchronize, "\(location): the server sends another range than requested")
        }
        return start
    }

    /// From `bytes 0-499/1234`.
    private static func start(_ field: String?) -> Int64? {
        guard let field, field.lowercased().hasPrefix("bytes ") else { return nil }
        return Int64(field.dropFirst(6).prefix { $0 != "-" }.drop { $0 == " " })
    }

    /// The version in the head of the answer, if it is there.
    private func validator(of reply: HTTPReply) -> Validator? {
        switch wanted {
        case .tag: return reply.field("ETag").flatMap { Validator(tag: $0) }
        case .summed(_, let checksum):
            let sent = reply.field("OC-Checksum").flatMap { ContentChecksum.best($0) }
            // A proxy may have dropped the header.
            guard let found = sent ?? Self.total(reply).map({ ContentChecksum.size($0) }),
                ContentChecksum.isSameKind(found, checksum)
            else { return nil }
            return reply.field("ETag").flatMap { Validator(tag: $0)?.with(checksum: found) }
        case .dateAndSize:
            guard let total = Self.total(reply), let date = reply.field("Last-Modified").flatMap(HTTPDate.parse) else {
                return nil
            }
            return .dateAndSize(date, total)
        }
    }

    /// The size of the whole document, in bytes, if the answer has it.
    private static func total(_ reply: HTTPReply) -> Int64? {
        reply.status == 206
            ? reply.field("Content-Range").flatMap { $0.split(separator: "/").last }.flatMap { Int64($0) }
            : reply.contentLength
    }

    /// - Throws: ``FileProviderError/Code/versionMismatch`` when the server has another version.
    private func compare(
        _ found: Validator?, size: Int64?, encoding: String? = nil
    ) async throws(FileProviderError) {
        if found == wanted, encoding == nil { return }
        // Absent or different: the server's listing decides.
        guard let resource = try await provider.client.resource(location),
            let item = try await provider.item(identifier, resource)
        else { throw provider.gone(identifier) }
        if resource.isFolder || resource.validator != wanted { throw provider.mismatch(item) }
        // (A document stored compressed on the server is sent as it is stored.)
        if let encoding, size != resource.size { throw DAVClient.encoded(encoding, "\(location)") }
        // An answer with another version, or none, must at least have the same size: proxies, and some servers, give
        // the answer a tag of its own.
        if found == nil ? size.map({ $0 != resource.size }) ?? false : size != resource.size {
            throw FileProviderError(
                .serverUnreachable,
                "\(location): the answer is not the document; if this network wants you to sign in, do so")
        }
    }
}
