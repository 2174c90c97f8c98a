import FileProvider

/// Where a document is sought that is not in its folder any more: whoever tidies up moves it to a folder near by. Its new
/// place is looked at before it is taken for deleted, so that it stays the same document, with its bytes here.
extension WebDAVProvider {
    /// So many folders, the nearest ones; each costs a listing.
    private static let vicinity = 16

    /// Whether it would be known again where somebody has put it.
    func isRecognizable(_ identifier: ItemIdentifier) async throws(FileProviderError) -> Bool {
        // By its number it has just been sought everywhere.
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

    /// The nearest folders of those that were ever listed: those in it, the one that it is in, those in these…
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
