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
        case .success(nil): throw try await mismatchOrGone(path)
        case .refused(let refusal):
            switch refusal.status {
            case 412, 416, 404: throw try await mismatchOrGone(path)
            default: throw client.failure(refusal, key(path))
            }
        }
    }

    /// From `bytes 0-499/1234`.
    private static func start(_ field: String?) -> Int64? {
        guard let field, field.lowercased().hasPrefix("bytes ") else { return nil }
        return Int64(field.dropFirst(6).prefix { $0 != "-" }.drop { $0 == " " })
    }

    /// Keep: users do not expect to download again what they just worked on.
    package func stopProvidingItem(_ identifier: ItemIdentifier) async -> ContentDisposition { .keep }
}
