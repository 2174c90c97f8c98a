package import FileProvider
import HTTPTransport

extension WebDAVProvider {
    package func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        let traits = try await probe.traits()
        guard let base = Validator(baseVersion.content) else { throw gone(identifier) }
        return try await reach(identifier) { location throws(FileProviderError) in
            guard let place = try await place(of: identifier) else { return nil }
            let upload = Upload(
                provider: self, traits: traits, contents: contents, modified: metadata.contentModificationDate,
                location: location, place: place)
            return try await upload.replace(identifier, base)
        }
    }

    package func createItem(
        _ template: ItemTemplate, contents: (any ContentSource)?
    ) async throws(FileProviderError) -> Item {
        let traits = try await probe.traits()
        try checkName(template.filename)
        let place = Place(parent: template.parentIdentifier, name: template.filename)
        return try await within(template.parentIdentifier) { folder throws(FileProviderError) in
            let location = folder.appending(template.filename.bytes, isFolder: template.kind.isFolder)
            switch template.kind {
            case .symbolicLink:
                throw FileProviderError(.unsupported, "“\(template.filename)”: WebDAV has no symbolic links")
            case .folder:
                return try await makeFolder(place, location, folder, traits)
            case .document:
                guard let contents else { throw FileProviderError(.unsupported, "a document needs contents") }
                let upload = Upload(
                    provider: self, traits: traits, contents: contents, modified: template.contentModificationDate,
                    location: location, place: place)
                return try await upload.create()
            }
        }
    }

    private func makeFolder(
        _ place: Place, _ location: HTTPLocation, _ folder: HTTPLocation, _ traits: ServerTraits
    ) async throws(FileProviderError) -> Item {
        try await checkTarget(place.name, in: folder)
        // Some servers report success for a folder that existed.
        if traits.family == .other, try await isTaken(location) { throw try await collision(place, location) }
        let outcome = try await client.change(HTTPRequest("MKCOL", location), in: [folder])
        if !outcome.isSuccess {
            // 405: it exists; some servers answer otherwise.
            if try await isTaken(location) { throw try await collision(place, location) }
            try await checkFolder(place.parent, folder)
            throw refusal(outcome.status, place.name)
        }
        return try await made(place, location)
    }

    /// Taken by an item of any kind.
    func isTaken(_ location: HTTPLocation) async throws(FileProviderError) -> Bool {
        try await client.propfind(location.asFolder(false)) != nil
    }

    /// The item that was just made.
    func made(_ place: Place, _ location: HTTPLocation) async throws(FileProviderError) -> Item {
        guard let resource = try await shown(location) else {
            throw FileProviderError(
                .cannotSynchronize, "“\(place.name)”: was made, but the server does not list it; Hydrant looks again"
            )
        }
        return Self.item(try await identifier(of: resource, at: place), place, resource)
    }

    /// A resource that a server cluster may show only a moment after it was put there.
    ///
    /// - Parameters:
    ///   - limit: after this time the server is not asked again,
    ///   - questions: but at least this often, because a slow server takes up the time with a few answers.
    /// - Returns: nil: not shown.
    func shown(
        _ location: HTTPLocation, within limit: Duration = .seconds(10), questions: Int = 8,
        _ isRight: (DAVResource) -> Bool = { _ in true }
    ) async throws(FileProviderError) -> DAVResource? {
        let start = ContinuousClock.now
        var pause = Duration.milliseconds(100)
        for question in 1... {
            if let resource = try await client.resource(location), isRight(resource) { return resource }
            guard question < questions || start.duration(to: .now) + pause < limit else { return nil }
            do { try await Task.sleep(for: pause) } catch {
                throw FileProviderError(.cancelled, "\(location): given up")
            }
            pause = min(pause * 2, .seconds(1))
        }
        return nil
    }

    /// - Throws: ``FileProviderError/Code/noSuchItem`` when the target folder is gone.
    func checkFolder(_ identifier: ItemIdentifier, _ folder: HTTPLocation) async throws(FileProviderError) {
        guard let resource = try await client.resource(folder), resource.isFolder else { throw gone(identifier) }
    }

    /// The error with the item that has a name. A server that does not distinguish some names may have it under another
    /// one.
    func collision(_ place: Place, _ location: HTTPLocation) async throws(FileProviderError) -> FileProviderError {
        // String's equality is that of Unicode, not of bytes.
        let name = place.name.string.lowercased()
        var same: Item?
        var similar: Item?
        func match(_ items: [Item]) {
            same = same ?? items.first { $0.filename == place.name }
            similar = similar ?? items.first { $0.filename.string.lowercased() == name }
        }
        do throws(FileProviderError) { try await list(place.parent, match) } catch {
            // A server may fail because of another client's change (rclone ends its answer in the middle).
            guard error.code == .cannotSynchronize else { throw error }
            try? await Task.sleep(for: .milliseconds(200))
            try await list(place.parent, match)
        }
        if let item = same {
            return FileProviderError(.filenameCollision, "“\(place.name)”: exists already", item: item)
        }
        if let item = similar {
            return FileProviderError(
                .invalidName,
                "“\(place.name)”: the server does not tell this name from “\(item.filename)”; rename one of them")
        }
        return FileProviderError(
            .cannotSynchronize, "“\(place.name)”: the server says that it exists, but does not list it")
    }
}
