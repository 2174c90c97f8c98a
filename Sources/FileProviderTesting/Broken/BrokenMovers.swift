import FileProvider

extension BrokenProvider {
    /// Rules 501 to 509.
    static let movers: [BrokenProvider] = [
        BrokenProvider(501, "A rename of a document of 512 bytes or more leaves it under the old name as well.") {
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
        BrokenProvider(503, "A move replaces what has the name.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                if let old = base.find(name, in: folder), old.identifier != identifier {
                    try await base.deleteItem(old.identifier, baseVersion: old.version)
                }
                return try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
            }
        },
        BrokenProvider(504, "What is in a folder stays behind when it moves to another one.") {
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
        BrokenProvider(505, "The answer to a move lacks a date.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                var item = try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
                item.creationDate = nil
                return item
            }
        },
        BrokenProvider(506, "A move of what is gone fails as if it might work later.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                guard (try? base.now(identifier)) != nil else {
                    throw FileProviderError(.cannotSynchronize, "404 Not Found")
                }
                return try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
            }
        },
        BrokenProvider(507, "What is to move into a folder that is gone moves into the topmost one.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                let isGone = (try? base.now(folder)) == nil
                return try await base.moveItem(
                    identifier, to: isGone ? .rootContainer : folder, as: name, baseVersion: version)
            }
        },
        BrokenProvider(508, "A refused move does not say what the store has now.") {
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
        BrokenProvider(509, "A folder that cannot move into itself is said to have done so.") {
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
