import FileProvider

extension BrokenProvider {
    /// Rules 501 to 509.
    static let movers: [BrokenProvider] = [
        BrokenProvider(501, "A rename of a document of 512 bytes or more keeps the old name as well.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                let before = try base.now(identifier)
                let item = try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
                if before.kind.isDocument, before.size >= 512, before.parentIdentifier == folder {
                    base.plant(before.filename, try base.bytes(of: identifier), in: folder)
                }
                return item
            }
        },
        BrokenProvider(502, "A document that moves to another folder keeps its name.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                let now = try base.now(identifier)
                let keeps = now.kind.isDocument && now.parentIdentifier != folder
                return try await base.moveItem(
                    identifier, to: folder, as: keeps ? now.filename : name, baseVersion: version)
            }
        },
        BrokenProvider(503, "A move replaces the item that has the name.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                if let old = base.find(name, in: folder), old.identifier != identifier {
                    try await base.deleteItem(old.identifier, baseVersion: old.version)
                }
                return try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
            }
        },
        BrokenProvider(504, "A folder that moves to another folder leaves its contents behind.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                let before = try base.now(identifier)
                let item = try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
                guard before.parentIdentifier != folder else { return item }
                for child in base.items(in: identifier) {
                    _ = try await base.moveItem(
                        child.identifier, to: before.parentIdentifier, as: child.filename, baseVersion: child.version)
                }
                return item
            }
        },
        BrokenProvider(505, "The item returned from a move lacks a date.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                var item = try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
                item.creationDate = nil
                return item
            }
        },
        BrokenProvider(506, "A move of a deleted item fails with an error that may pass.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                guard (try? base.now(identifier)) != nil else {
                    throw FileProviderError(.cannotSynchronize, "404 Not Found")
                }
                return try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
            }
        },
        BrokenProvider(507, "A move into a deleted folder puts the item into the topmost folder.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                let isGone = (try? base.now(folder)) == nil
                return try await base.moveItem(
                    identifier, to: isGone ? .rootContainer : folder, as: name, baseVersion: version)
            }
        },
        BrokenProvider(508, "The error of a refused move lacks the current item.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                do throws(FileProviderError) {
                    return try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
                } catch {
                    var error = error
                    if error.code == .versionMismatch { error.item = nil }
                    throw error
                }
            }
        },
        BrokenProvider(509, "A move of a folder into itself succeeds and does nothing.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                do throws(FileProviderError) {
                    return try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
                } catch {
                    guard error.code == .unsupported else { throw error }
                    return try base.now(identifier)
                }
            }
        },
    ]
}
