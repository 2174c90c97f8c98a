import FileProvider

/// Rules for providers that are ``FileProvider/FavoriteKeeping``, and whose store has favourites after all.
extension ConformanceSuite {
    static let favoriteRules: [ConformanceRule] = [
        ConformanceRule(1901, "A favourite is one in its placeholder and in its folder's listing; no other item is.") {
            it in
            let item = try await it.makeDocument("document")
            let other = try await it.makeDocument("other")
            let marked = try await mark(it, item)
            try it.require(marked.isFavorite, "the returned item is no favourite")
            try await it.requireIsCurrent(marked)
            let listed = try await it.items().filter(\.isFavorite).map(\.filename)
            try it.require(listed == ["document"], "of the folder, \(listed) are favourites")
            try it.require(try await !it.placeholder(other).isFavorite, "another document is a favourite too")
        },
        ConformanceRule(1902, "A mark changes the metadata version, and not the contents.") { it in
            let bytes = ConformanceContext.testBytes(80)
            let item = try await it.makeDocument("document", bytes)
            let marked = try await mark(it, item)
            try it.require(marked.version.metadata != item.version.metadata, "the metadata version is the same")
            try it.require(marked.version.content == item.version.content, "the contents have another version")
            try await it.requireContents(marked, are: bytes)
        },
        ConformanceRule(1903, "A mark that is taken away is gone, also from a folder.") { it in
            for item in [try await it.makeDocument("document"), try await it.makeFolder("folder")] {
                _ = try await mark(it, item)
                let plain = try await mark(it, item, isFavorite: false)
                try it.require(!plain.isFavorite, "“\(item.filename)” is still a favourite")
                try await it.requireIsCurrent(plain)
            }
        },
    ]

    private static func mark(
        _ it: ConformanceContext, _ item: Item, isFavorite: Bool = true
    ) async throws -> Item {
        let reason = "the store keeps no favourites"
        guard let provider = it.abilities.favorites, provider.keepsFavorites else { throw RuleSkip(reason) }
        return try await unlessUnsupported(reason) {
            try await provider.setFavorite(isFavorite, of: item.identifier)
        }
    }

    /// Rules for providers that are ``FileProvider/LinkSharing``.
    static let linkRules: [ConformanceRule] = [
        ConformanceRule(2001, "A link is listed as it was returned, for its item only.") { it in
            let (item, other) = (try await it.makeDocument("document"), try await it.makeDocument("other"))
            let provider = try links(it)
            let link = try await share(it, item)
            try it.require(link.problem == nil, "\(link.problem ?? "")")
            let listed = try await provider.sharedLinks(to: item.identifier)
            try it.require(listed == [link], "the link \(link) is listed as \(listed)")
            let others = try await provider.sharedLinks(to: other.identifier)
            try it.require(others.isEmpty, "another document has the links \(others)")
            try await provider.endSharedLink(link.identifier, to: item.identifier)
        },
        ConformanceRule(2002, "A link has the terms that were asked for, or is not made.") { it in
            let item = try await it.makeDocument()
            let provider = try links(it)
            _ = try await unlessUnsupported("the store gives out no links") {
                try await provider.sharedLinks(to: item.identifier)
            }
            // (No store takes every password.)
            let terms = LinkTerms(password: "Hydrant, 7 seas & 1 more")
            let link: SharedLink
            do {
                link = try await provider.shareLink(to: item.identifier, terms: terms)
            } catch let error as FileProviderError {
                let left = try await provider.sharedLinks(to: item.identifier)
                try it.require(left.isEmpty, "after “\(error.message)” there is a link all the same")
                return
            }
            try it.require(link.hasPassword, "a link that was to have a password has none")
            try it.require(!link.allowsEditing, "a link that was to be for reading allows changes")
            try await provider.endSharedLink(link.identifier, to: item.identifier)
        },
        ConformanceRule(2003, "An ended link is gone, and the others stay.") { it in
            let item = try await it.makeDocument()
            let provider = try links(it)
            let (first, second) = (try await share(it, item), try await share(it, item))
            try await provider.endSharedLink(first.identifier, to: item.identifier)
            let left = try await provider.sharedLinks(to: item.identifier)
            try it.require(left == [second], "of two links, after the end of the first, there are \(left)")
            try await provider.endSharedLink(second.identifier, to: item.identifier)
        },
        ConformanceRule(2004, "Ending a link that the item does not have is refused.") { it in
            let (item, other) = (try await it.makeDocument("document"), try await it.makeDocument("other"))
            let provider = try links(it)
            let link = try await share(it, item)
            try await it.requireError(.noSuchItem, from: "ending another document's link") {
                try await provider.endSharedLink(link.identifier, to: other.identifier)
            }
            let left = try await provider.sharedLinks(to: item.identifier)
            try it.require(left == [link], "after the refusal the links are \(left)")
            try await provider.endSharedLink(link.identifier, to: item.identifier)
        },
    ]

    private static func links(_ it: ConformanceContext) throws -> any LinkSharing {
        guard let provider = it.abilities.links else { throw RuleSkip("the store gives out no links") }
        return provider
    }

    private static func share(_ it: ConformanceContext, _ item: Item) async throws -> SharedLink {
        let provider = try links(it)
        return try await unlessUnsupported("the store gives out no links") {
            try await provider.shareLink(to: item.identifier, terms: LinkTerms())
        }
    }
}
