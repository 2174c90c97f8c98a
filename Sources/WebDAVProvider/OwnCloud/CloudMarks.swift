package import FileProvider
import HTTPTransport
import Hashing
import Surroundings

extension WebDAVProvider: FavoriteKeeping {
    package var keepsFavorites: Bool { probe.traitsIfKnown?.hasFavorites ?? false }

    /// Favourites are the user's own: the item, and what other users see of it, does not change.
    ///
    /// Source: docs.nextcloud.com, WebDAV, oc:favorite (PROPPATCH).
    package func setFavorite(
        _ isFavorite: Bool, of identifier: ItemIdentifier
    ) async throws(FileProviderError) -> Item {
        guard try await probe.traits().hasFavorites else {
            throw FileProviderError(.unsupported, "\(root): the server keeps no favourites")
        }
        return try await reach(identifier) { location throws(FileProviderError) in
            guard let before = try await client.resource(location), try await item(identifier, before) != nil else {
                return nil
            }
            let name = Filename(bytes: location.components.last ?? [])
            guard try await markFavorite(isFavorite, location.asFolder(before.isFolder), name) else { return nil }
            guard let after = try await client.resource(location) else { return nil }
            return try await item(identifier, after)
        }
    }

    /// - Returns: false: nothing is at this place.
    private func markFavorite(
        _ isFavorite: Bool, _ location: HTTPLocation, _ name: Filename
    ) async throws(FileProviderError) -> Bool {
        let body = """
            <?xml version="1.0" encoding="utf-8"?><D:propertyupdate \(DAVProperty.spaces(of: [.favorite]))>\
            <D:set><D:prop><O:favorite>\(isFavorite ? 1 : 0)</O:favorite></D:prop></D:set></D:propertyupdate>
            """
        let request = HTTPRequest(
            "PROPPATCH", location, headers: [("Content-Type", "application/xml; charset=utf-8")],
            body: .bytes(Array(body.utf8)), retries: .always)
        return try await client.transport.exchange(request) { reply in
            if reply.status == 404 {
                _ = try? await reply.prefix(64 << 10)
                return false
            }
            guard reply.status == 207 else {
                _ = try? await reply.prefix(64 << 10)
                throw refusal(reply.status, name)
            }
            var isSet = false
            try await client.read(reply, "\(location)") { responses in
                isSet = isSet || responses.contains { $0.properties[.favorite] != nil }
            }
            guard isSet else { throw refusal(403, name) }
            return true
        }
    }
}

extension WebDAVProvider: FolderVersioning {
    /// The folder's tag, which changes with any document below it; and favourites and tags, which change no tag of a
    /// folder: a list of each, whatever the number of documents.
    package func folderVersion(of folder: ItemIdentifier) async throws(FileProviderError) -> String? {
        let traits = try await probe.traits()
        guard traits.family == .ownCloud else { return nil }
        return try await reach(folder, isFolder: true) { location throws(FileProviderError) in
            let answer = try await client.propfind(location, [.resourceType, .lastModified, .entityTag])
            guard let tag = answer?.properties[.entityTag] else { return nil }
            guard traits.hasFavorites else { return tag }
            return try await "\(tag) \(favorites(in: location)) \(systemTags(traits))"
        }
    }

    /// A text that changes when other items in the folder are this user's favourites.
    ///
    /// Source: Nextcloud, `apps/dav/lib/Connector/Sabre/FilesReportPlugin.php` (`oc:filter-files`).
    private func favorites(in folder: HTTPLocation) async throws(FileProviderError) -> String {
        let body = """
            <?xml version="1.0" encoding="utf-8"?><O:filter-files \(DAVProperty.spaces(of: [.fileID]))>\
            \(DAVProperty.list([.fileID]))<O:filter-rules><O:favorite>1</O:favorite></O:filter-rules></O:filter-files>
            """
        return try await digest(
            .favorites,
            HTTPRequest(
                "REPORT", folder, headers: [("Content-Type", "application/xml; charset=utf-8")],
                body: .bytes(Array(body.utf8)), retries: .always)
        ) { $0.properties[.fileID] }
    }

    /// A text that changes when a tag is made, renamed, or (Nextcloud 31) given to an item or taken from one.
    private func systemTags(_ traits: ServerTraits) async throws(FileProviderError) -> String {
        guard let tags = traits.cloud?.service.appending(Array("systemtags".utf8), isFolder: true) else { return "" }
        let properties: [DAVProperty] = [.resourceType, .lastModified, .entityTag]
        return try await digest(
            .tags,
            HTTPRequest(
                "PROPFIND", tags,
                headers: [("Depth", "1"), ("Content-Type", "application/xml; charset=utf-8")],
                body: .bytes(DAVProperty.question(properties)), retries: .always)
        ) { "\($0.href) \($0.properties[.entityTag] ?? "")" }
    }

    /// - Returns: empty: the server does not answer such a question. It is not asked again if it knows none such.
    private func digest(
        _ list: ServerHabits.MarkList, _ request: HTTPRequest, _ text: @Sendable (DAVResponse) -> String?
    ) async throws(FileProviderError) -> String {
        if habits.lacks(list) { return "" }
        var found: [String] = []
        let status = try await client.transport.exchange(request) { reply in
            guard reply.status == 207 else {
                _ = try? await reply.prefix(64 << 10)
                // Signing in again, or waiting, may help.
                let what = "\(request.location)"
                if [401, 408, 429].contains(reply.status) || reply.status >= 500 && reply.status != 501,
                    let error = HTTPFailure.error(status: reply.status, what, root.origin)
                {
                    throw error
                }
                return reply.status
            }
            try await client.read(reply, "\(request.location)") { found += $0.compactMap(text) }
            return reply.status
        }
        guard status == 207 else {
            // (A refusal by a rule of the administrator's, or by a lock, may pass.)
            if [400, 404, 405, 415, 501].contains(status) { habits.noteLacking(list) }
            return ""
        }
        return SHA256.hash(data: Array(found.sorted().joined(separator: "\n").utf8)).prefix(12).hexadecimal
    }
}
