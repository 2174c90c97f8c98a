package import FileProvider
import HTTPTransport
import NIOCore

/// The versions that a bucket with versioning keeps.
///
/// Source: *Amazon S3 User Guide, Retaining multiple versions of objects with S3 Versioning*.
extension S3Provider: VersionKeeping {
    package func versions(
        of identifier: ItemIdentifier, limit: Int
    ) async throws(FileProviderError) -> [DocumentVersion] {
        let path = S3Key.path(identifier)
        let key = key(path)
        var kept: [S3ObjectVersion] = []
        var mark: S3VersionListing.Mark?
        // (Bounded: a server could go on for ever.)
        for _ in 0..<Self.mostParts {
            let part = try await client.versions(key, from: mark)
            kept += part.versions.prefix { $0.key == key }
            // Longer keys come after it.
            guard kept.count <= limit * 2, part.versions.allSatisfy({ $0.key == key }), let next = part.next else {
                break
            }
            mark = next
        }
        guard let latest = kept.first(where: \.isLatest), !latest.isDeletion else { throw gone(path) }
        return Array(Self.distinct(kept, latest).prefix(limit))
    }

    private static let mostParts = 20

    /// A change of the date or the attributes alone makes a version in the bucket too, with the same contents: only the
    /// newest of such versions counts.
    private static func distinct(_ kept: [S3ObjectVersion], _ latest: S3ObjectVersion) -> [DocumentVersion] {
        var tag = latest.object?.entityTag
        var found: [DocumentVersion] = []
        for version in kept where !version.isLatest {
            guard let object = version.object, object.entityTag != tag else { continue }
            tag = object.entityTag
            found.append(
                DocumentVersion(
                    identifier: version.identifier, size: object.size, contentModificationDate: object.modified,
                    author: version.owner))
        }
        return found
    }

    package func startProvidingVersion(
        _ version: DocumentVersion, of identifier: ItemIdentifier, into sink: any ContentSink
    ) async throws(FileProviderError) {
        let key = key(S3Key.path(identifier))
        let place = client.describe(key)
        let request = S3Client.Request(
            method: "GET", key: key, query: [("versionId", version.identifier)], isTransfer: true, retries: .never)
        let outcome = try await client.exchange(request) { reply -> Int64 in
            var position: Int64 = 0
            for try await buffer in reply.body {
                try await sink.write(Array(buffer.readableBytesView), at: position)
                position += Int64(buffer.readableBytes)
            }
            return position
        }
        switch outcome {
        case .success(let end) where end < version.size:
            throw FileProviderError(.cannotSynchronize, "\(place): the transfer broke off at byte \(end); try again")
        case .success: return
        case .refused(let refusal):
            // 400: no name of a version; 405: a mark of a deletion.
            guard [400, 404, 405].contains(refusal.status) else { throw client.failure(refusal, key) }
            throw FileProviderError(.noSuchItem, "\(place): the bucket does not have this version any more")
        }
    }
}
