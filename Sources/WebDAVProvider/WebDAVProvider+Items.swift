package import FileProvider
import HTTPTransport
import Logging

extension WebDAVProvider {
    package func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        _ = try await probe.traits()
        return try await reach(identifier) { location throws(FileProviderError) in
            guard let resource = try await client.resource(location) else { return nil }
            return try await item(identifier, resource)
        }
    }

    // MARK: Items

    /// - Returns: nil: another item is there now.
    func item(_ identifier: ItemIdentifier, _ resource: DAVResource) async throws(FileProviderError) -> Item? {
        if identifier == .rootContainer { return Self.item(identifier, Place(parent: identifier, name: ""), resource) }
        guard let place = try await place(of: identifier) else { return nil }
        if let own = resource.identifier, own != identifier.rawValue { return nil }
        return Self.item(identifier, place, resource)
    }

    static func item(_ identifier: ItemIdentifier, _ place: Place, _ resource: DAVResource) -> Item {
        let date = FileTime(seconds: resource.isFolder ? 0 : resource.modified)
        var capabilities = Self.capabilities(of: resource)
        var marks = resource.permissions == nil ? "" : "\(capabilities.rawValue)"
        if resource.isFavorite { marks += ";favorite" }
        if !resource.tags.isEmpty { marks += ";" + resource.tags.joined(separator: ",") }
        if let lock = resource.lock {
            marks += ";locked by \(lock.owner)"
            capabilities.subtract([.writing, .renaming, .deleting])
        }
        var item = Item(
            identifier: identifier, parentIdentifier: place.parent, filename: place.name,
            kind: resource.isFolder ? .folder : .document, size: resource.size,
            contentModificationDate: FileTime(seconds: resource.modified),
            version: ItemVersion(
                content: resource.isFolder ? ContentVersion("folder") : resource.validator.version,
                metadata: MetadataVersion("\(place.parent)/\(place.name);\(date.seconds);\(marks)")),
            capabilities: capabilities)
        (item.isFavorite, item.tags) = (resource.isFavorite, resource.tags)
        return item
    }

    /// From ownCloud's letters: W or C in a folder (K) may be written, D deleted, N renamed, V moved, G read.
    ///
    /// The letters of what somebody shares with this user say more than is so in the listing of the folder above, and
    /// less in the item's own (seen with Nextcloud 17; the server adds rights with which the user may move the share
    /// itself): only what the share allows counts.
    ///
    /// Source: docs.nextcloud.com, WebDAV, oc:permissions; Nextcloud, `lib/public/Files/DavUtil.php`.
    private static func capabilities(of resource: DAVResource) -> ItemCapabilities {
        guard let letters = resource.permissions else { return .all }
        let isFolder = resource.isFolder
        var capabilities: ItemCapabilities = .reading
        if letters.contains("W") || isFolder { capabilities.insert(.writing) }
        if letters.contains("D") { capabilities.insert(.deleting) }
        if letters.contains("N") || letters.contains("V") { capabilities.insert(.renaming) }
        if isFolder, letters.contains("C") || letters.contains("K") { capabilities.insert(.addingSubItems) }
        if let allowed = resource.sharePermissions {
            if allowed & 2 == 0 { capabilities.subtract(isFolder ? .renaming : [.writing, .renaming]) }
            if allowed & 4 == 0 { capabilities.remove(.addingSubItems) }
        }
        // A group folder or an external storage is where the administrator put it.
        if resource.isMountRoot, letters.contains("M") { capabilities.subtract([.renaming, .deleting]) }
        return capabilities
    }

    /// The item at a place, with its own identifier; nil: none.
    func item(at place: Place, _ location: HTTPLocation) async throws(FileProviderError) -> Item? {
        guard let resource = try await client.resource(location) else { return nil }
        let identifier = try await identifier(of: resource, at: place)
        return Self.item(identifier, place, resource)
    }

    /// - Throws: ``FileProviderError/Code/versionMismatch`` with the current item.
    func mismatch(_ item: Item) -> FileProviderError {
        FileProviderError(.versionMismatch, "\(item.filename): has changed on the server", item: item)
    }

    /// The error for a refused change, from the status alone.
    func refusal(_ status: Int, _ what: Filename) -> FileProviderError {
        if let error = HTTPFailure.error(status: status, "“\(what)”", root.origin) { return error }
        switch status {
        case 400, 414, 422:
            return FileProviderError(.invalidName, "“\(what)”: the server refuses this name (\(status))")
        case 405, 501: return FileProviderError(.unsupported, "“\(what)”: the server cannot do this (\(status))")
        default: return FileProviderError(.cannotSynchronize, "“\(what)”: the server answers \(status)")
        }
    }
}
