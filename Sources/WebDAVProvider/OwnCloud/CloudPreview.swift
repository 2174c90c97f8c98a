package import FileProvider
import HTTPTransport

extension WebDAVProvider: ThumbnailProviding {
    /// Nextcloud's preview of a document, which the server makes on the first request; other servers have none, and are
    /// not asked.
    ///
    /// Source: Nextcloud, `core/Controller/PreviewController.php` (`/index.php/core/preview`).
    package func thumbnail(
        of identifier: ItemIdentifier, version: ContentVersion, size: Int
    ) async throws(FileProviderError) -> Thumbnail? {
        guard let place = try await probe.traits().cloud?.preview(of: identifier, size: size) else { return nil }
        let picture = try await client.transport.exchange(HTTPRequest("GET", place, retries: .always)) { reply in
            guard reply.status == 200, ["image/png", "image/jpeg"].contains(reply.mediaType) else {
                _ = try? await reply.prefix(64 << 10)
                // The server has no preview of such a document (404; 400 in old versions), or shows something else.
                if reply.status == 200 || 400..<500 ~= reply.status { return [UInt8]() }
                throw FileProviderError(
                    .cannotSynchronize,
                    "\(identifier): the server answers \(reply.status) to a request for a preview")
            }
            let bytes = try await reply.prefix(Self.largestPreview + 1)
            return bytes.count > Self.largestPreview ? [] : bytes
        }
        // A preview does not name its version.
        let now = try await providePlaceholder(for: identifier)
        guard now.version.content == version else { throw mismatch(now) }
        return picture.isEmpty ? nil : Thumbnail(bytes: picture)
    }

    /// In bytes.
    private static let largestPreview = 4 << 20
}

extension CloudPlaces {
    /// Nil: the item has no number of the server.
    fileprivate func preview(of identifier: ItemIdentifier, size: Int) -> HTTPLocation? {
        guard identifier.rawValue.hasPrefix("f:"), let number = Int64(identifier.rawValue.dropFirst(2)) else {
            return nil
        }
        let side = min(max(size, 1), 2_048)
        return page(
            ["index.php", "core", "preview"], query: "fileId=\(number)&x=\(side)&y=\(side)&a=1&forceIcon=0")
    }
}
