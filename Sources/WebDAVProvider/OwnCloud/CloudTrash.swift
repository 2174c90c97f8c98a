package import FileProvider
import HTTPTransport
import Logging

/// Source: docs.nextcloud.com, developer manual, WebDAV, trashbin.
extension WebDAVProvider: TrashRestoring {
    package func trashedItems() async throws(FileProviderError) -> [TrashEntry] {
        let (cloud, trash) = try await openTrash()
        let properties: [DAVProperty] = [
            .resourceType, .contentLength, .lastModified, .fileID, .trashPlace, .trashMoment, .wholeSize,
        ]
        var items = NewestTrash()
        let isThere = try await client.list(trash, .children, properties, ofAll: true) { responses in
            for response in responses { if let item = item(response, in: trash, cloud) { items.add(item) } }
        }
        guard isThere else { throw FileProviderError(.unsupported, "\(root): the server has no trash any more") }
        return items.entries
    }

    /// - Throws: ``FileProviderError/Code/unsupported``: this user has no trash.
    private func openTrash() async throws(FileProviderError) -> (CloudPlaces, HTTPLocation) {
        let traits = try await probe.traits()
        guard traits.hasTrash, let cloud = traits.cloud else {
            throw FileProviderError(.unsupported, "\(root): the server has no trash")
        }
        return (cloud, cloud.trash)
    }

    /// Nil: the trash itself, an item that was not in the mounted folder, or one that cannot be shown.
    private func item(_ response: DAVResponse, in trash: HTTPLocation, _ cloud: CloudPlaces) -> TrashEntry? {
        guard let names = trash.resolve(response.href)?.components(below: trash), names.count == 1,
            let name = names.first.flatMap({ String(validating: $0, as: UTF8.self) }),
            let path = response.properties[.trashPlace].flatMap({ self.path(trashed: $0, cloud) })
        else { return nil }
        let properties = response.properties
        return TrashEntry(
            identifier: name, path: path, kind: response.isFolder ? .folder : .document,
            size: (properties[.contentLength] ?? properties[.wholeSize]).flatMap { Int64($0) } ?? 0,
            deleted: properties[.trashMoment].flatMap { Int64($0) }.map { FileTime(seconds: $0) })
    }

    /// - Parameter place: from the user's topmost folder on.
    private func path(trashed place: String, _ cloud: CloudPlaces) -> [Filename]? {
        let names = place.utf8.split(separator: UInt8(ascii: "/")).map { Array($0) }
        let above = root.components(below: cloud.files) ?? []
        guard names.count > above.count, names.starts(with: above) else { return nil }
        return names.dropFirst(above.count).map { Filename(bytes: $0) }
    }

    package func restoreTrashedItem(_ trashed: String) async throws(FileProviderError) -> [Filename]? {
        let (cloud, trash) = try await openTrash()
        let name = Filename(trashed)
        if name.problem != nil { throw Self.notInTrash(name) }
        let source = trash.appending(name.bytes)
        guard
            let before = try await client.propfind(
                source, [.resourceType, .lastModified, .fileID, .trashPlace], ofAll: true)
        else { throw Self.notInTrash(name) }
        // (The server takes the old place, whatever the name here.)
        let target = cloud.restored.appending(name.bytes)
        let outcome = try await client.move(source.asFolder(before.isFolder), to: target, overwrites: true)
        // 404: it was restored, and only the answer to an earlier attempt was lost.
        guard outcome.isSuccess || outcome.status == 404 else { throw refusal(outcome.status, name) }
        let number = before.properties[.fileID].flatMap { Int64($0) }
        let now: HTTPLocation?
        do throws(FileProviderError) {
            now = try await place(restored: number, before.properties[.trashPlace], cloud)
        } catch {
            // It is out of the trash, whether or not the server says where it is.
            guard outcome.isSuccess else { throw error }
            logger.debug("cannot find a restored item", metadata: ["name": "\(name)", "error": "\(error)"])
            return nil
        }
        if !outcome.isSuccess, now == nil { throw Self.notInTrash(name) }
        guard let below = now?.components(below: root), !below.isEmpty else { return nil }
        return below.map { Filename(bytes: $0) }
    }

    private static func notInTrash(_ name: Filename) -> FileProviderError {
        FileProviderError(.noSuchItem, "“\(name)”: is not in the server's trash")
    }

    /// Where an item is now, by its number, which it kept in the trash.
    private func place(
        restored number: Int64?, _ before: String?, _ cloud: CloudPlaces
    ) async throws(FileProviderError) -> HTTPLocation? {
        guard let number else { return nil }
        if let found = try await finder.find(number, cloud, client) { return found }
        // ownCloud cannot search: it may be back at its place.
        let names = (before ?? "").utf8.split(separator: UInt8(ascii: "/")).map { Array($0) }
        guard !names.isEmpty else { return nil }
        let old = names.reduce(cloud.files.asFolder(true)) { $0.appending($1) }
        let there = try await client.propfind(old, [.resourceType, .lastModified, .fileID])
        return there?.properties[.fileID].flatMap { Int64($0) } == number ? old : nil
    }
}
