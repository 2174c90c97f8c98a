package import FileProvider
import Foundation
import HTTPTransport
import Logging

extension WebDAVProvider {
    package func deleteItem(
        _ identifier: ItemIdentifier, baseVersion: ItemVersion
    ) async throws(FileProviderError) {
        // The caller may not have known that there is a trash.
        try await delete(identifier, baseVersion, toTrash: probe.traitsIfKnown == nil)
    }

    /// - Parameter toTrash: use the server's trash, if it has one.
    func delete(
        _ identifier: ItemIdentifier, _ baseVersion: ItemVersion, toTrash: Bool
    ) async throws(FileProviderError) {
        let traits = try await probe.traits()
        guard identifier != .rootContainer else {
            throw FileProviderError(.unsupported, "the topmost folder cannot be deleted")
        }
        try await reach(identifier) { location throws(FileProviderError) -> Void? in
            guard let resource = try await client.resource(location), let current = try await item(identifier, resource)
            else { return nil }
            guard !resource.isFolder else { return try await deleteFolder(identifier, location.asFolder(true), traits) }
            guard let base = Validator(baseVersion.content), resource.validator == base else { throw mismatch(current) }
            return try await deleteDocument(identifier, location, base, isForGood: traits.hasTrash && !toTrash)
        }
        places.remove(identifier)
    }

    private func deleteDocument(
        _ identifier: ItemIdentifier, _ location: HTTPLocation, _ base: Validator, isForGood: Bool
    ) async throws(FileProviderError) -> Void? {
        let name = Filename(bytes: location.components.last ?? [])
        for attempt in 0...Upload.weakTag {
            // As for an upload: a weak tag satisfies no condition, and becomes strong; or the server ignores
            // conditions.
            var headers = attempt < Upload.weakTag ? [base.condition] : []
            if isForGood { headers.append(("X-NC-Skip-Trashbin", "true")) }
            let outcome = try await client.change(
                HTTPRequest("DELETE", location, headers: headers), in: [location.folder])
            if outcome.isSuccess { return () }
            guard let resource = try await client.resource(location), let item = try await item(identifier, resource)
            else { return nil }
            guard outcome.status == 412 else { throw await refusal(outcome.status, name, at: location) }
            guard resource.validator == base else { throw mismatch(item) }
            do { try await Task.sleep(for: Upload.weakPause) } catch {
                throw FileProviderError(.cancelled, "“\(name)”: the deletion was given up")
            }
        }
        throw refusal(412, name)
    }

    /// DELETE takes all that is in a folder with it (RFC 4918, 9.6.1). So the folder is first moved to a temporary
    /// name: items that other clients put into it before that are seen.
    private func deleteFolder(
        _ identifier: ItemIdentifier, _ location: HTTPLocation, _ traits: ServerTraits
    ) async throws(FileProviderError) -> Void? {
        guard let listing = try await read(location) else { return nil }
        let name = Filename(bytes: location.components.last ?? [])
        let isNotEmpty = FileProviderError(.directoryNotEmpty, "“\(name)”: is not empty")
        guard listing.isEmpty else { throw isNotEmpty }
        // From the trash, an item that another client has just put into the folder can be restored.
        if traits.hasTrash { return try await destroy(location, name) }
        guard let asideName = Leftover.folderName(for: name),
            try await alteredPart(of: name, in: location.folder) == nil
        else { return try await destroy(location, name) }
        let aside = location.folder.appending(asideName.bytes, isFolder: true)
        let moved = try await client.move(location, to: aside)
        guard moved.isSuccess else {
            if try await client.propfind(location) == nil { return nil }
            throw refusal(moved.status, name)
        }
        guard try await read(aside)?.isEmpty != false else {
            _ = try await client.move(aside, to: location)
            throw isNotEmpty
        }
        return try await destroy(aside, name)
    }

    private func destroy(_ location: HTTPLocation, _ name: Filename) async throws(FileProviderError) {
        let outcome = try await client.change(HTTPRequest("DELETE", location), in: [location.folder])
        if !outcome.isSuccess, outcome.status != 404 { throw refusal(outcome.status, name) }
    }

    // MARK: Our own leftovers

    /// Deletes a temporary item; a failure does not matter, as ``sweep(_:at:)`` comes later.
    func remove(_ stage: HTTPLocation) async {
        // Also when the task that sent it was cancelled.
        let client = client
        _ = await Task { try? await client.change(HTTPRequest("DELETE", stage), in: [stage.folder]) }.value
    }

    /// Deletes a leftover of an older or killed Hydrant.
    func sweep(_ entry: Listing.Entry, at location: HTTPLocation) async {
        guard let leftover = Leftover(entry.name), isOld(entry) else { return }
        logger.info("deletes a leftover", metadata: ["place": "\(location)"])
        do {
            switch leftover {
            case .upload: await remove(location)
            case .folder(let name):
                guard let listing = try await read(location.asFolder(true)) else { return }
                if listing.isEmpty { return await remove(location.asFolder(true)) }
                // Another client had put an item into it.
                let target = location.folder.appending(name.bytes, isFolder: true)
                _ = try await client.move(location.asFolder(true), to: target)
            }
        } catch {
            logger.debug("cannot delete a leftover", metadata: ["error": "\(error)"])
        }
    }

    /// Not part of an upload that is running, here or on another machine; clocks may differ.
    private func isOld(_ entry: Listing.Entry) -> Bool {
        Int64(Date().timeIntervalSince1970) - entry.resource.modified > 86_400
    }
}
