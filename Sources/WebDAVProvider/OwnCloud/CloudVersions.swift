package import FileProvider
import HTTPTransport
import NIOCore

/// The versions that Nextcloud keeps, named by the second of the document's date.
///
/// Source: docs.nextcloud.com, developer manual, WebDAV: versions.
extension WebDAVProvider: VersionKeeping {
    package var keepsVersions: Bool { probe.traitsIfKnown.map { $0.cloud != nil } ?? true }

    package func versions(
        of identifier: ItemIdentifier, limit: Int
    ) async throws(FileProviderError) -> [DocumentVersion] {
        let place = try await versions(of: identifier)
        let now = try await providePlaceholder(for: identifier)
        var found: [DocumentVersion] = []
        let isThere = try await client.list(
            place, .children,
            [.resourceType, .contentLength, .lastModified, .entityTag, .versionLabel, .versionAuthor]
        ) { responses in
            for response in responses {
                guard let version = DocumentVersion(response, in: place) else { continue }
                // The present contents are listed too.
                let isPresent =
                    version.contentModificationDate.seconds == now.contentModificationDate.seconds
                    && version.size == now.size
                if !isPresent { found.append(version) }
            }
        }
        guard isThere else { throw FileProviderError(.unsupported, "this server keeps no versions of documents") }
        let newest = found.sorted { $0.contentModificationDate > $1.contentModificationDate }
        return Array(newest.prefix(limit))
    }

    package func startProvidingVersion(
        _ version: DocumentVersion, of identifier: ItemIdentifier, into sink: any ContentSink
    ) async throws(FileProviderError) {
        let folder = try await versions(of: identifier)
        let gone = FileProviderError(
            .noSuchItem, "\(identifier): the server does not have version “\(version.identifier)” any more")
        guard DocumentVersion.isNumber(version.identifier) else { throw gone }
        let place = folder.appending(version.identifier.utf8)
        let request = HTTPRequest("GET", place, isTransfer: true, retries: .never)
        try await client.transport.exchange(request) { reply in
            guard reply.status == 200 else {
                _ = try? await reply.prefix(64 << 10)
                if [404, 410].contains(reply.status) { throw gone }
                throw HTTPFailure.error(status: reply.status, "\(place)", place.origin)
                    ?? FileProviderError(
                        .cannotSynchronize, "\(place): the server answers \(reply.status) to a request for a version")
            }
            if let encoding = reply.encoding { throw DAVClient.encoded(encoding, "\(place)") }
            var position: Int64 = 0
            for try await buffer in reply.body {
                try await sink.write(Array(buffer.readableBytesView), at: position)
                position += Int64(buffer.readableBytes)
            }
        }
    }

    /// The collection of a document's versions.
    private func versions(of identifier: ItemIdentifier) async throws(FileProviderError) -> HTTPLocation {
        guard let cloud = try await probe.traits().cloud else {
            throw FileProviderError(.unsupported, "this server keeps no versions of documents")
        }
        guard let number = cloud.number(of: identifier) else {
            throw FileProviderError(.unsupported, "\(identifier): the server has no number for this document")
        }
        return cloud.versions.appending("\(number)".utf8, isFolder: true)
    }
}

extension DocumentVersion {
    /// Nil: not a version, but the collection itself, or something unknown.
    fileprivate init?(_ response: DAVResponse, in place: HTTPLocation) {
        guard let location = place.resolve(response.href), !response.isFolder,
            let name = location.components.last.map({ String(decoding: $0, as: UTF8.self) }), Self.isNumber(name),
            let seconds = Int64(name),
            let size = response.properties[.contentLength].flatMap({ Int64($0) }), size >= 0
        else { return nil }
        func text(_ property: DAVProperty) -> String? {
            response.properties[property].flatMap { $0.isEmpty ? nil : String($0.prefix(Self.longestText)) }
        }
        self.init(
            identifier: name, size: size, contentModificationDate: FileTime(seconds: seconds),
            author: text(.versionAuthor), label: text(.versionLabel))
    }

    /// In characters, of a label.
    private static let longestText = 200

    fileprivate static func isNumber(_ name: String) -> Bool {
        (1...18).contains(name.utf8.count) && name.utf8.allSatisfy { (48...57).contains($0) }
    }
}
