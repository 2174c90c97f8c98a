public import FileProvider

// Favourites, links and the trash, as far as ``features`` has them.
extension InMemoryProvider: FavoriteKeeping {
    /// As ``features`` says.
    public var keepsFavorites: Bool { features.contains(.favorites) }

    /// Every client of the store sees the mark.
    public func setFavorite(
        _ isFavorite: Bool, of identifier: ItemIdentifier
    ) async throws(FileProviderError) -> Item {
        note(HookCall(.setFavorite, identifier))
        try require(.favorites)
        try requireWritable()
        let item = try withStore { store throws(FileProviderError) in
            try store.setFavorite(isFavorite, of: identifier)
        }
        signalOwn([.item(identifier)])
        return item
    }
}

extension InMemoryProvider: LinkSharing {
    /// The addresses of links lead nowhere.
    public func shareLink(
        to identifier: ItemIdentifier, terms: LinkTerms
    ) async throws(FileProviderError) -> SharedLink {
        note(HookCall(.shareLink, identifier))
        try require(.links)
        return try withStore { store throws(FileProviderError) in try store.share(identifier, terms) }
    }

    /// In the order in which they were made.
    public func sharedLinks(to identifier: ItemIdentifier) async throws(FileProviderError) -> [SharedLink] {
        note(HookCall(.sharedLinks, identifier))
        try require(.links)
        return try withStore { store throws(FileProviderError) in
            _ = try store.node(identifier)
            return store.links.filter { $0.identifier == identifier }.map(\.link)
        }
    }

    /// The link is forgotten.
    public func endSharedLink(_ link: String, to identifier: ItemIdentifier) async throws(FileProviderError) {
        note(HookCall(.endSharedLink, identifier))
        try require(.links)
        try withStore { store throws(FileProviderError) in try store.endLink(link, to: identifier) }
    }
}

extension InMemoryProvider: TrashRestoring {
    /// In the order of their arrival; without a moment.
    public func trashedItems() async throws(FileProviderError) -> [TrashEntry] {
        note(HookCall(.trashedItems, .rootContainer))
        try require(.trash)
        return try withStore { store throws(FileProviderError) in
            store.trash.map { node in
                TrashEntry(
                    identifier: node.trashIdentifier, path: store.path(of: node.item), kind: node.item.kind,
                    size: node.item.size, deleted: nil)
            }
        }
    }

    /// The item keeps its identifier.
    public func restoreTrashedItem(_ trashed: String) async throws(FileProviderError) -> [Filename]? {
        note(HookCall(.restoreTrashedItem, .rootContainer))
        try require(.trash)
        try requireWritable()
        let (item, path) = try withStore { store throws(FileProviderError) in
            let item = try store.restore(trashed)
            return (item, store.path(of: item))
        }
        signalOwn([.folder(item.parentIdentifier)])
        return path
    }
}

extension MemoryNode {
    var trashIdentifier: String { "trash-\(number)" }
}
