import FileProvider

extension BrokenProvider {
    /// Rules 1901 to 1903.
    static let markers: [BrokenProvider] = [
        BrokenProvider(1901, "A mark does not show in the folder's listing.") {
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                var found = try await base.enumerateItems(in: folder, startingAt: page)
                for index in found.items.indices { found.items[index].isFavorite = false }
                return found
            }
        },
        BrokenProvider(1902, "A mark leaves the metadata version as it is.") {
            let versions = Memo([ItemIdentifier: MetadataVersion]())
            $0.favorite = { base, isFavorite, identifier async throws(FileProviderError) in
                let before = try base.now(identifier).version.metadata
                versions { $0[identifier] = before }
                return try await base.setFavorite(isFavorite, of: identifier)
            }
            $0.item = { item in
                var item = item
                if let version = versions({ $0[item.identifier] }) { item.version.metadata = version }
                return item
            }
        },
        BrokenProvider(1903, "A mark cannot be taken away.") {
            $0.favorite = { base, isFavorite, identifier async throws(FileProviderError) in
                let wasFavorite = try base.now(identifier).isFavorite
                return try await base.setFavorite(isFavorite || wasFavorite, of: identifier)
            }
        },
    ]

    /// Rules 2001 to 2004.
    static let sharers: [BrokenProvider] = [
        BrokenProvider(2001, "The links of an item are those of its folder.") {
            $0.links = { base, identifier async throws(FileProviderError) in
                let folder = try base.now(identifier).parentIdentifier
                var links: [SharedLink] = []
                for item in base.items(in: folder) { links += try await base.sharedLinks(to: item.identifier) }
                return links
            }
        },
        BrokenProvider(2002, "A link has no password, whatever the terms.") {
            $0.share = { base, identifier, terms async throws(FileProviderError) in
                var terms = terms
                terms.password = nil
                return try await base.shareLink(to: identifier, terms: terms)
            }
        },
        BrokenProvider(2003, "Ending a link leaves it in the list.") {
            let ended = Memo([ItemIdentifier: [SharedLink]]())
            $0.endLink = { base, link, identifier async throws(FileProviderError) in
                let all = try await base.sharedLinks(to: identifier)
                try await base.endSharedLink(link, to: identifier)
                ended { $0[identifier, default: []] += all.filter { $0.identifier == link } }
            }
            $0.links = { base, identifier async throws(FileProviderError) in
                try await base.sharedLinks(to: identifier) + ended { $0[identifier] ?? [] }
            }
        },
        BrokenProvider(2004, "Ending a link that the item does not have succeeds.") {
            $0.endLink = { base, link, identifier async throws(FileProviderError) in
                guard try await base.sharedLinks(to: identifier).contains(where: { $0.identifier == link }) else {
                    return
                }
                try await base.endSharedLink(link, to: identifier)
            }
        },
    ]
}
