package import FileProvider
import HTTPTransport

extension WebDAVProvider: ServerSideCopying {
    /// COPY (RFC 4918, 9.8).
    package func copyItem(
        _ identifier: ItemIdentifier, version: ContentVersion, as template: ItemTemplate
    ) async throws(FileProviderError) -> Item {
        _ = try await probe.traits()
        try checkName(template.filename)
        guard let wanted = Validator(version) else { throw gone(identifier) }
        let place = Place(parent: template.parentIdentifier, name: template.filename)
        let folder = try await location(of: template.parentIdentifier, isFolder: true)
        let target = folder.appending(template.filename.bytes)
        return try await reach(identifier) { location throws(FileProviderError) in
            guard try await isCurrent(identifier, wanted, at: location) else { return nil }
            let outcome = try await client.send(
                HTTPRequest("COPY", location, headers: [("Destination", target.url), ("Overwrite", "F")]))
            guard outcome.isSuccess else {
                guard try await isCurrent(identifier, wanted, at: location) else { return nil }
                try await checkFolder(place.parent, folder)
                if try await isTaken(target) { throw try await collision(place, target) }
                throw FileProviderError(
                    .unsupported, "“\(place.name)”: the server does not copy it (\(outcome.status))")
            }
            // What was copied may have been replaced just before.
            do throws(FileProviderError) {
                guard try await isCurrent(identifier, wanted, at: location) else { throw gone(identifier) }
            } catch {
                await remove(target)
                throw error
            }
            return try await made(place, target)
        }
    }

    /// - Returns: false: there is nothing at this place.
    /// - Throws: ``FileProviderError/Code/versionMismatch``.
    private func isCurrent(
        _ identifier: ItemIdentifier, _ wanted: Validator, at location: HTTPLocation
    ) async throws(FileProviderError) -> Bool {
        guard let resource = try await client.resource(location), let item = try await item(identifier, resource) else {
            return false
        }
        if resource.isFolder || resource.validator != wanted { throw mismatch(item) }
        return true
    }
}
