package import FileProvider
import Foundation
import HTTPTransport
import NIOCore

extension S3Provider {
    package func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        let path = S3Key.path(identifier)
        let place = client.describe(key(path))
        let tag = version.description
        let request = S3Client.Request(
            method: "GET", key: key(path),
            headers: [
                ("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"), ("If-Match", "\"\(tag)\""),
                ("x-amz-checksum-mode", "ENABLED"),
            ], isTransfer: true, retries: .never)
        let outcome = try await client.exchange(request) { reply -> Int64? in
            guard reply.field("ETag").map(S3ListingReader.unquoted) == tag else { return nil }
            guard reply.status == 206 || range.lowerBound == 0 else {
                throw FileProviderError(.cannotSynchronize, "\(place): the server sends all of it instead of a range")
            }
            var position = range.lowerBound
            if reply.status == 206, Self.start(reply.field("Content-Range")) != range.lowerBound {
                throw FileProviderError(.cannotSynchronize, "\(place): the server sends another range than requested")
            }
            let total = reply.status == 206 ? Self.total(reply.field("Content-Range")) : reply.contentLength
            if let checksum = S3Checksum(reply), range.count <= Self.longestChecked,
                range.lowerBound == 0, total == range.upperBound
            {
                return try await Self.pass(reply, range, checksum, place, to: sink)
            }
            for try await buffer in reply.body {
                let count = min(Int64(buffer.readableBytes), range.upperBound - position)
                if count > 0 {
                    try await sink.write(Array(buffer.readableBytesView.prefix(Int(count))), at: position)
                    position += count
                }
                if position >= range.upperBound { break }
            }
            return position
        }
        switch outcome {
        case .success(let end?) where end < range.upperBound:
            throw FileProviderError(.cannotSynchronize, "\(place): the transfer broke off at byte \(end)")
        case .success(.some): return
        case .success(nil): throw try await notThisVersion(path, tag)
        case .refused(let refusal):
            switch refusal.status {
            case 412, 416, 404: throw try await notThisVersion(path, tag)
            default: throw client.failure(refusal, key(path))
            }
        }
    }

    /// The error for an answer that has nothing of this version: the document has changed or is gone; or the answer
    /// came from something else, as a proxy, and the next one will be right.
    private func notThisVersion(_ path: String, _ tag: String) async throws(FileProviderError) -> FileProviderError {
        guard let head = try await client.head(key(path)) else { return gone(path) }
        guard head.object.entityTag != tag else {
            return FileProviderError(
                .cannotSynchronize, "\(client.describe(key(path))): the answer is not this document's; try again")
        }
        return mismatch(try await item(asking: path, head))
    }

    /// In bytes: a longer document is shown as it arrives, unchecked.
    private static let longestChecked = 8 << 20

    /// Passes a whole document on when it is known to be what the server once got.
    ///
    /// - Returns: the end of what has arrived.
    private static func pass(
        _ reply: HTTPReply, _ range: Range<Int64>, _ checksum: S3Checksum, _ place: String, to sink: any ContentSink
    ) async throws -> Int64 {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        for try await buffer in reply.body {
            bytes += buffer.readableBytesView.prefix(range.count - bytes.count)
            if bytes.count == range.count { break }
        }
        if bytes.count == range.count, !checksum.matches(bytes) {
            throw FileProviderError(
                .cannotSynchronize,
                "\(place): has arrived damaged: it does not have the checksum that the server keeps")
        }
        var position = 0
        while position < bytes.count {
            let end = min(position + 256 << 10, bytes.count)
            try await sink.write(Array(bytes[position..<end]), at: Int64(position))
            position = end
        }
        return Int64(bytes.count)
    }

    /// The size of the whole document, from `bytes 0-499/1234`.
    private static func total(_ field: String?) -> Int64? {
        field?.split(separator: "/").last.flatMap { Int64($0) }
    }

    /// From `bytes 0-499/1234`.
    private static func start(_ field: String?) -> Int64? {
        guard let field, field.lowercased().hasPrefix("bytes ") else { return nil }
        return Int64(field.dropFirst(6).prefix { $0 != "-" }.drop { $0 == " " })
    }

    /// Keep: users do not expect to download again what they just worked on.
    package func stopProvidingItem(_ identifier: ItemIdentifier) async -> ContentDisposition { .keep }
}
