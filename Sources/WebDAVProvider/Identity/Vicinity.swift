import FileProvider

/// Looks for a document that is missing from its folder in the folders near by, where people move documents when they
/// tidy up, before it counts as deleted: so it stays the same document, with its bytes here.
extension WebDAVProvider {
    /// The number of folders, nearest first; each costs a listing.
    private static let vicinity = 16

    /// Whether the item would be recognised in another folder.
    func isRecognizable(_ identifier: ItemIdentifier) async throws(FileProviderError) -> Bool {
        // On a server with numbers, the item was just looked for everywhere.
        guard let traits = probe.traitsIfKnown, traits.cloud == nil else { return false }
        guard let item = try await catalog?.knownItem(identifier) else { return false }
        return traits.keepsIdentifiers || Recognition.likeness(of: item) != nil
    }

    func listVicinity(of folder: ItemIdentifier) async throws(FileProviderError) {
        let folders = try await vicinity(of: folder)
        await withTaskGroup { group in
            for folder in folders { group.addTask { _ = await self.list(again: folder) } }
        }
    }

    /// The nearest folders that were ever listed: the folder's subfolders, its parent, their subfolders, and so on.
    private func vicinity(of folder: ItemIdentifier) async throws(FileProviderError) -> [ItemIdentifier] {
        guard let catalog else { return [] }
        var found = [folder]
        var next = 0
        while next < found.count, found.count <= Self.vicinity {
            let current = found[next]
            next += 1
            var neighbours = try await catalog.knownItems(in: current).filter(\.isFolder).map(\.identifier)
            if current != .rootContainer, let place = try await place(of: current) { neighbours.append(place.parent) }
            found += neighbours.filter { !found.contains($0) }
        }
        return Array(found.prefix(Self.vicinity + 1).dropFirst())
    }
}
