package import FileProvider
import Foundation

extension RcloneProvider: ServerSideCopying {
    package func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        let path = RclonePath.path(identifier)
        let isFolder = RclonePath.isFolder(identifier)
        let target = try RclonePath.path(in: folder, filename, isFolder: isFolder)
        if target.utf8.elementsEqual(path.utf8) { return try await providePlaceholder(for: identifier) }
        if isFolder {
            guard !target.utf8.starts(with: path.utf8) else {
                throw FileProviderError(.cannotSynchronize, "\(client.describe(path)): cannot be moved into itself")
            }
            try await moveFolder(path, to: target)
            try await keepFolder(RclonePath.folder(of: path))
            return try await providePlaceholder(for: RclonePath.identifier(target))
        }
        return try await alone(target) { () async throws(FileProviderError) -> Item in
            try await self.moveDocument(path, to: target)
        }
    }

    private func moveDocument(_ path: String, to target: String) async throws(FileProviderError) -> Item {
        let leftovers = try await leftovers(of: path)
        guard let before = try await document(path) else { throw gone(path) }
        try await checkName(target)
        try await checkFree(target, except: path)
        if try await traits().moves {
            guard try await rename(path, target) else {
                guard let other = try await document(target) else { throw gone(path) }
                throw collision(other)
            }
        } else {
            try await copyAndDelete(before, path, to: target)
        }
        for aside in leftovers { _ = try? await delete(aside) }
        try await keepFolder(RclonePath.folder(of: path))
        guard try await isListed(target) else {
            _ = try? await rename(target, path)
            throw changed(target)
        }
        guard let item = try await document(target) else { throw gone(target) }
        return item
    }

    /// A store without a rename. Between the last look and the deletion a change of somebody else's is lost.
    private func copyAndDelete(_ before: Item, _ path: String, to target: String) async throws(FileProviderError) {
        guard try await copy(path, to: target), let copy = try await document(target) else {
            guard let other = try await document(target) else { throw gone(path) }
            throw collision(other)
        }
        let now = try await document(path)
        guard let now, now.version.content == before.version.content, Self.areSame(copy, now) else {
            _ = try? await delete(target)
            guard let now else { throw gone(path) }
            throw mismatch(now)
        }
        _ = try await delete(path)
    }

    /// Whether these have the same bytes, as far as the store tells.
    private static func areSame(_ copy: Item, _ original: Item) -> Bool {
        let (a, b) = (copy.version.content, original.version.content)
        return copy.size == original.size && (a == b || RcloneVersion.isDated(a) || RcloneVersion.isDated(b))
    }

    /// - Returns: false when something has the other name.
    private func copy(_ path: String, to target: String) async throws(FileProviderError) -> Bool {
        var parameters = try await self.parameters(path, to: target)
        parameters._config = .keeping
        return try await counted("operations/copyfile", parameters, on: path)
    }

    package func copyItem(
        _ identifier: ItemIdentifier, version: ContentVersion, as template: ItemTemplate
    ) async throws(FileProviderError) -> Item {
        let path = RclonePath.path(identifier)
        let target = try RclonePath.path(in: template.parentIdentifier, template.filename, isFolder: false)
        guard try await traits().copies else {
            throw FileProviderError(.unsupported, "\(client.describe(path)): this kind of store cannot copy")
        }
        return try await alone(target) { () async throws(FileProviderError) -> Item in
            try await self.copyDocument(path, version, to: target)
        }
    }

    private func copyDocument(
        _ path: String, _ version: ContentVersion, to target: String
    ) async throws(FileProviderError) -> Item {
        let source = try await expect(path, version)
        try await checkName(target)
        try await checkFree(target)
        let isCopied = try await copy(path, to: target)
        guard let item = try await document(target) else { throw gone(target) }
        guard isCopied else { throw collision(item) }
        let now = try await document(path)
        guard let now, now.version.content == version, Self.areSame(item, source) else {
            // What was copied may be another version.
            _ = try? await delete(target)
            guard let now else { throw gone(path) }
            throw mismatch(now)
        }
        try await confirmName(target)
        return item
    }

    // MARK: Folders

    /// Renames a folder; or, where the store cannot, moves what is in it, one after another. For that, a mark in the
    /// new folder says where it comes from: when it is cut off, the next attempt goes on.
    private func moveFolder(_ path: String, to target: String) async throws(FileProviderError) {
        let traits = try await traits()
        guard try await folder(path) != nil else { throw gone(path) }
        try await checkName(target)
        let mark = target + ReservedName.move(from: path)
        let isUnderWay = traits.movesFolders ? false : try await entry(mark) != nil
        if !isUnderWay { try await checkFree(target, except: path) }
        if !traits.movesFolders && !isUnderWay {
            try await makeFolder(target)
            try await put(mark)
        }
        var parameters = RcloneParameters()
        parameters.srcFs = full(path)
        parameters.dstFs = full(target)
        parameters.createEmptySrcDirs = true
        parameters.deleteEmptySrcDirs = true
        parameters._config = .moving
        try await client.call("sync/move", parameters, on: path, takes: .aTransfer)
        try await sweepEmptyFolders(path)
        if let rest = try await list(path, isQuick: true) {
            guard rest.allSatisfy({ $0.Name == ReservedName.folder }) else {
                throw FileProviderError(
                    .cannotSynchronize,
                    "\(client.describe(path)): could not be moved whole to \(client.describe(target)); what is left is "
                        + "moved at the next attempt")
            }
            for entry in rest { _ = try await delete(path + entry.Name) }
            _ = try? await remove(folder: path)
        }
        if !traits.movesFolders { _ = try await delete(mark) }
        guard try await isListed(target) else { throw changed(target) }
    }

    /// What a move of documents leaves: folders without any.
    private func sweepEmptyFolders(_ path: String) async throws(FileProviderError) {
        guard try await folder(path) != nil else { return }
        let parameters = try await self.parameters(path)
        _ = try await client.attempt("operations/rmdirs", parameters)
    }

    /// A folder as a remote of its own.
    private func full(_ path: String) -> String {
        let fs = client.fs
        return fs + (fs.hasSuffix(":") || fs.hasSuffix("/") ? "" : "/") + RclonePath.plain(path)
    }
}
