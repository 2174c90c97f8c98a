package import FileProvider

/// Parameters and results about favourites, links and the trash.
extension Message {
    package struct SetFavorite: Codable, Sendable {
        package var identifier: ItemIdentifier
        package var isFavorite: Bool
    }

    package struct ShareLink: Codable, Sendable {
        package var identifier: ItemIdentifier
        var password: String?
        var until: WireTime?
        var allowsEditing: Bool

        package init(identifier: ItemIdentifier, terms: LinkTerms) {
            self.identifier = identifier
            (password, until) = (terms.password, terms.until.map(WireTime.init))
            allowsEditing = terms.allowsEditing
        }

        package var terms: LinkTerms {
            LinkTerms(password: password, until: until?.value, allowsEditing: allowsEditing)
        }
    }

    package struct LinkAnswer: Codable, Sendable {
        var link: WireLink
        package init(_ link: SharedLink) { self.link = WireLink(link) }
        package var value: SharedLink { link.value }
    }

    package struct Links: ListAnswer {
        var links: [WireLink]
        package init(_ links: [SharedLink]) { self.links = links.map(WireLink.init) }
        package var value: [SharedLink] { links.map(\.value) }
        package var halves: (Links, Links)? {
            links.halves.map { (Links($0.map(\.value)), Links($1.map(\.value))) }
        }
        package mutating func append(_ later: Links) { links += later.links }
    }

    package struct EndLink: Codable, Sendable {
        package var identifier: ItemIdentifier
        package var link: String
    }

    package struct Trash: ListAnswer {
        var items: [WireTrashed]
        package init(_ items: [TrashEntry]) { self.items = items.map(WireTrashed.init) }
        package var value: [TrashEntry] { items.map(\.value) }
        package var halves: (Trash, Trash)? {
            items.halves.map { (Trash($0.map(\.value)), Trash($1.map(\.value))) }
        }
        package mutating func append(_ later: Trash) { items += later.items }
    }

    package struct Restore: Codable, Sendable { package var trashed: String }

    package struct RestoredPlace: Codable, Sendable {
        var path: [ByteString]?
        package init(_ path: [Filename]?) { self.path = path?.map { ByteString($0.bytes) } }
        package var value: [Filename]? { path?.map { Filename(bytes: $0.bytes) } }
    }
}
