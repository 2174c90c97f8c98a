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
            // Under a temporary name first, so that no client sees a half-made copy.
            try await checkTarget(template.filename, in: folder)
            let stage = folder.appending(Leftover.uploadName().bytes)
            do throws(FileProviderError) {
                try await copy(location, to: stage, place.name)
                // The source may have been replaced just before.
                guard try await isCurrent(identifier, wanted, at: location),
                    let source = try await client.resource(location),
                    try await shown(stage, { $0.size == source.size }) != nil
                else { throw FileProviderError(.unsupported, "“\(place.name)”: the server did not copy all of it") }
                let outcome = try await client.move(stage, to: target)
                if !outcome.isSuccess {
                    try await checkFolder(place.parent, folder)
                    if try await isTaken(target) { throw try await collision(place, target) }
                    throw refusal(outcome.status, place.name)
                }
            } catch {
                await remove(stage)
                throw error
            }
            return try await made(place, target)
        }
    }

    /// - Throws: ``FileProviderError/Code/unsupported`` also when the copy takes too long.
    private func copy(
        _ location: HTTPLocation, to stage: HTTPLocation, _ name: Filename
    ) async throws(FileProviderError) {
        let reason: String
        do throws(FileProviderError) {
            let outcome = try await client.move(location, to: stage, method: "COPY")
            if outcome.isSuccess { return }
            reason = "\(outcome.status)"
        } catch {
            guard error.code == .serverUnreachable || error.code == .cannotSynchronize else { throw error }
            reason = error.message
        }
        throw FileProviderError(.unsupported, "“\(name)”: the server cannot copy it (\(reason))")
    }

    /// - Returns: false: no item is at this place.
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
