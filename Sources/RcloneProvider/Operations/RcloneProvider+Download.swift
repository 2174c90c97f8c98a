package import FileProvider
import Foundation
import HTTPTransport
import NIOCore

extension RcloneProvider {
    /// rclone reads without a condition: the document is looked at before and after, and the answer's head says the
    /// date (to the second) and the size of what is being read.
    package func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        let path = RclonePath.path(identifier)
        let place = client.describe(path)
        let item = try await expect(path, version)
        let date = item.contentModificationDate.seconds
        let end = try await client.read(path, range) { reply -> End in
            switch reply.status {
            case 200, 206: break
            // (Of every document that it cannot open, also for want of a permission.)
            case 404: return .notOpened
            case 416: return .otherVersion
            default:
                let answer = Data(try await reply.prefix(64 << 10))
                throw RcloneClient.refusal(answer, reply.status).failure(place)
            }
            if let size = Self.size(reply), size != item.size { return .otherVersion }
            if let field = reply.field("Last-Modified"), let seconds = HTTPDate.parse(field), seconds != date {
                return .otherVersion
            }
            guard reply.status == 206 || range.lowerBound == 0 else {
                throw FileProviderError(.cannotSynchronize, "\(place): rclone sends all of it instead of a range")
            }
            return .reached(try await Self.pass(reply, range, to: sink))
        }
        let now = try await expect(path, version)
        switch end {
        // (It is again what it was, but was not while it was read.)
        case .otherVersion: throw mismatch(now)
        case .notOpened:
            throw FileProviderError(
                .cannotSynchronize, "\(place): is in the store, but rclone cannot open it; rclone cat says why")
        case .reached(let byte):
            guard byte < range.upperBound else { return }
            throw FileProviderError(.cannotSynchronize, "\(place): the transfer broke off at byte \(byte)")
        }
    }

    private enum End: Sendable {
        /// The first byte that did not come.
        case reached(Int64)
        case otherVersion
        case notOpened
    }

    /// The document, with this version.
    ///
    /// - Throws: when it has another one, or is gone.
    func expect(_ path: String, _ version: ContentVersion) async throws(FileProviderError) -> Item {
        guard let item = try await document(path) else { throw gone(path) }
        guard item.version.content == version else { throw mismatch(item) }
        return item
    }

    /// - Returns: the first byte that did not come.
    private static func pass(
        _ reply: HTTPReply, _ range: Range<Int64>, to sink: any ContentSink
    ) async throws -> Int64 {
        var position = range.lowerBound
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

    /// The size of the whole document; nil: not said.
    private static func size(_ reply: HTTPReply) -> Int64? {
        if reply.status == 200 { return reply.contentLength }
        // bytes 0-499/1234
        guard let field = reply.field("Content-Range"), let slash = field.lastIndex(of: "/") else { return nil }
        return Int64(field[field.index(after: slash)...])
    }

    /// Keep: users do not expect to download again what they just worked on.
    package func stopProvidingItem(_ identifier: ItemIdentifier) async -> ContentDisposition { .keep }
}
