package import FileProvider

/// What a user asks the store for by a command, or by a mark: links, the trash, favourites.
extension StoreClient {
    // MARK: Favourites

    /// The error is `unsupported` where the store keeps none.
    func setFavorite(
        _ isFavorite: Bool, of identifier: ItemIdentifier, at path: @autoclosure () -> String?
    ) async throws(FileProviderError) -> Item {
        guard let favorites = abilities.favorites else {
            throw Self.cannot("keep favourites")
        }
        return try await reporting(.setFavorite, identifier, at: path) { () async throws(FileProviderError) in
            try await favorites.setFavorite(isFavorite, of: identifier)
        }
    }

    // MARK: Links

    private func links() throws(FileProviderError) -> any LinkSharing {
        guard let links = abilities.links else {
            throw Self.cannot("give out links; share the document in the store's own way")
        }
        return links
    }

    package func shareLink(
        to identifier: ItemIdentifier, terms: LinkTerms, at path: @autoclosure () -> String?
    ) async throws(FileProviderError) -> SharedLink {
        let links = try links()
        let link = try await reporting(.shareLink, identifier, at: path) { () async throws(FileProviderError) in
            try await links.shareLink(to: identifier, terms: terms)
        }
        if let problem = link.problem {
            // A link that nobody sees must not stay.
            try? await links.endSharedLink(link.identifier, to: identifier)
            throw Self.impossible("the link that the provider made", problem)
        }
        return link
    }

    /// No event.
    package func sharedLinks(to identifier: ItemIdentifier) async throws(FileProviderError) -> [SharedLink] {
        let found = try await links().sharedLinks(to: identifier)
        if found.count > SharedLink.most {
            throw Self.impossible("the provider's list of links", "it has more than \(SharedLink.most)")
        }
        for link in found { if let problem = link.problem { throw Self.impossible("a link of the provider", problem) } }
        return found
    }

    package func endSharedLink(
        _ link: String, to identifier: ItemIdentifier, at path: @autoclosure () -> String?
    ) async throws(FileProviderError) {
        let links = try links()
        try await reporting(.endSharedLink, identifier, at: path) { () async throws(FileProviderError) in
            try await links.endSharedLink(link, to: identifier)
        }
    }

    // MARK: The trash

    private func openTrash() throws(FileProviderError) -> any TrashRestoring {
        guard let trash = abilities.openTrash else { throw Self.cannot("show a trash: it has none") }
        return trash
    }

    /// Without the items that cannot be shown. No event.
    package func trashedItems() async throws(FileProviderError) -> [TrashEntry] {
        let found = try await openTrash().trashedItems()
        if found.count > TrashEntry.most {
            throw Self.impossible("the provider's trash", "it has more than \(TrashEntry.most) items")
        }
        return found.filter { $0.problem == nil }
    }

    /// - Parameter path: where the item was, for the event.
    /// - Returns: where it is now; nil: not known.
    package func restoreTrashedItem(
        _ trashed: String, from path: String
    ) async throws(FileProviderError) -> [Filename]? {
        let trash = try openTrash()
        let now = try await reporting(.restoreTrashedItem, nil, at: { path }) { () async throws(FileProviderError) in
            try await trash.restoreTrashedItem(trashed)
        }
        return now.flatMap { $0.isEmpty || $0.contains { $0.problem != nil } ? nil : $0 }
    }

    private static func impossible(_ what: String, _ problem: String) -> FileProviderError {
        FileProviderError(
            .cannotSynchronize, "\(what) cannot be used: \(problem); report it to the provider's author")
    }
}
