package import FileProvider
import HTTPTransport

extension WebDAVProvider {
    package func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        _ = try await probe.traits()
        try checkName(filename)
        guard identifier != .rootContainer else {
            throw FileProviderError(.unsupported, "the topmost folder cannot be moved")
        }
        let target = Place(parent: folder, name: filename)
        return try await reach(identifier) { location throws(FileProviderError) in
            guard let resource = try await client.resource(location), let current = try await item(identifier, resource)
            else { return nil }
            // Another client has made the same move.
            if let from = try await place(of: identifier), from == target { return current }
            return try await within(folder) { parent throws(FileProviderError) in
                try await move(identifier, location.asFolder(resource.isFolder), to: target, in: parent)
            }
        }
    }

    /// - Returns: nil: the item is gone.
    private func move(
        _ identifier: ItemIdentifier, _ source: HTTPLocation, to target: Place, in folder: HTTPLocation
    ) async throws(FileProviderError) -> Item? {
        let new = folder.appending(target.name.bytes, isFolder: source.isFolder)
        try await checkTarget(target.name, in: folder)
        guard folder.components(below: source) == nil else {
            throw FileProviderError(.unsupported, "“\(target.name)”: a folder cannot move into itself")
        }
        places.attempt(identifier, target)
        let status =
            source.isFolder
            ? try await moves.during { () async throws(FileProviderError) in
                let status = try await move(source, to: new)
                if status == nil { places.put(identifier, at: target) }
                return status
            }
            : try await move(source, to: new)
        if let status {
            places.endAttempt(identifier)
            return try await failed(status, identifier, source, new, target, folder)
        }
        places.put(identifier, at: target)
        places.endAttempt(identifier)
        guard let moved = try await shown(new) else {
            throw FileProviderError(
                .cannotSynchronize,
                "“\(target.name)”: was moved, but the server does not list it; Hydrant looks again")
        }
        return Self.item(identifier, target, moved)
    }

    /// Never replaces. Returns nil on success, else the status.
    private func move(_ location: HTTPLocation, to target: HTTPLocation) async throws(FileProviderError) -> Int? {
        let outcome = try await client.move(location, to: target)
        return outcome.isSuccess ? nil : outcome.status
    }

    /// - Returns: nil: the item is gone.
    private func failed(
        _ status: Int, _ identifier: ItemIdentifier, _ source: HTTPLocation, _ new: HTTPLocation, _ target: Place,
        _ folder: HTTPLocation
    ) async throws(FileProviderError) -> Item? {
        guard try await client.propfind(source) != nil else { return nil }
        try await checkFolder(target.parent, folder)
        guard try await isTaken(new) else { throw refusal(status, target.name) }
        let collision = try await collision(target, new)
        // Its own name in another case, on a server that does not distinguish them.
        guard collision.code == .invalidName, let name = source.components.last,
            source.components.dropLast() == new.components.dropLast(),
            Filename(bytes: name).string.lowercased() == target.name.string.lowercased()
        else { throw collision }
        let between = folder.appending(Leftover.uploadName().bytes, isFolder: source.isFolder)
        if let status = try await move(source, to: between) { throw refusal(status, target.name) }
        if let status = try await move(between, to: new) {
            _ = try await move(between, to: source)
            throw refusal(status, target.name)
        }
        places.put(identifier, at: target)
        return try await client.resource(new).map { Self.item(identifier, target, $0) }
    }
}
