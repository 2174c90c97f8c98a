package import FileProvider
import Foundation
import HTTPTransport

/// Public links of ownCloud and Nextcloud.
///
/// Source: docs.nextcloud.com, developer manual, OCS Share API; seen with Nextcloud 17, which ignores the rights asked
/// for with a new link, and takes them afterwards.
extension WebDAVProvider: LinkSharing {
    package func shareLink(
        to identifier: ItemIdentifier, terms: LinkTerms
    ) async throws(FileProviderError) -> SharedLink {
        let cloud = try await linkPlaces()
        return try await reach(identifier) { location throws(FileProviderError) in
            guard let (ask, isFolder) = try await ask(identifier, location, cloud) else { return nil }
            return try await ask.make(terms, isFolder: isFolder)
        }
    }

    package func sharedLinks(to identifier: ItemIdentifier) async throws(FileProviderError) -> [SharedLink] {
        let cloud = try await linkPlaces()
        return try await reach(identifier) { location throws(FileProviderError) in
            try await ask(identifier, location, cloud)?.question.list().compactMap(\.link)
        }
    }

    package func endSharedLink(_ link: String, to identifier: ItemIdentifier) async throws(FileProviderError) {
        let cloud = try await linkPlaces()
        try await reach(identifier) { location throws(FileProviderError) -> Void? in
            guard let ask = try await ask(identifier, location, cloud)?.question else { return nil }
            guard try await ask.list().contains(where: { $0.id == link }) else { throw ask.noLink(link) }
            return try await ask.end(link)
        }
    }

    private func linkPlaces() async throws(FileProviderError) -> CloudPlaces {
        guard let cloud = try await probe.traits().cloud else {
            throw FileProviderError(.unsupported, "\(root): this server gives out no links")
        }
        return cloud
    }

    /// Nil: another item is there now.
    private func ask(
        _ identifier: ItemIdentifier, _ location: HTTPLocation, _ cloud: CloudPlaces
    ) async throws(FileProviderError) -> (question: LinkQuestion, isFolder: Bool)? {
        guard let resource = try await client.resource(location), try await item(identifier, resource) != nil,
            let path = cloud.path(of: location)
        else { return nil }
        let name = Filename(bytes: location.components.last ?? [])
        return (LinkQuestion(client: client, links: cloud.links, path: path, name: name), resource.isFolder)
    }
}

extension CloudPlaces {
    fileprivate var links: HTTPLocation { page(["ocs", "v2.php", "apps", "files_sharing", "api", "v1", "shares"]) }
}

/// What the server says of one share.
struct CloudShare: Decodable {
    var id: String
    private var type: Int
    var permissions: Int
    private var url: String?
    private var password: String?
    /// `2026-12-24 00:00:00`; the link ends when this day begins.
    var expiration: String?

    private enum CodingKeys: String, CodingKey {
        case id, permissions, url, expiration
        case type = "share_type"
        case password = "share_with"
    }

    /// Numbers may be texts, and the other way round.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func number(_ key: CodingKeys) throws -> Int {
            if let number = try? container.decode(Int.self, forKey: key) { return number }
            return Int(try container.decode(String.self, forKey: key)) ?? 0
        }
        id = try (try? container.decode(String.self, forKey: .id)) ?? String(number(.id))
        type = try number(.type)
        permissions = try number(.permissions)
        url = try container.decodeIfPresent(String.self, forKey: .url)
        password = try container.decodeIfPresent(String.self, forKey: .password)
        expiration = try container.decodeIfPresent(String.self, forKey: .expiration)
    }

    static let toRead = 1
    static let toChange = 2
    /// For folders also: make and delete items.
    static let toEditFolder = 15
    static let toEditDocument = 3
    /// All that is more than reading.
    private static let changes = 2 | 4 | 8

    var isLink: Bool { type == 3 && url != nil }
    var allowsEditing: Bool { permissions & Self.toChange != 0 }
    var allowsChanges: Bool { permissions & Self.changes != 0 }
    var hasPassword: Bool { password?.isEmpty == false }

    /// `2026-12-24`.
    var day: Substring? { expiration.flatMap { $0.isEmpty ? nil : $0.prefix(10) } }

    var link: SharedLink? {
        guard isLink, let url else { return nil }
        return SharedLink(
            identifier: id, url: url, hasPassword: hasPassword,
            until: day.flatMap { CloudDay.moment(String($0)) }.map {
                FileTime(seconds: Int64($0.timeIntervalSince1970))
            },
            allowsEditing: allowsEditing)
    }
}

/// Days as the server writes them, in this machine's time zone (the server does not say its own).
enum CloudDay {
    private static var style: Date.ISO8601FormatStyle {
        Date.ISO8601FormatStyle(timeZone: .current).year().month().day()
    }

    static func text(_ moment: FileTime) -> String {
        Date(timeIntervalSince1970: Double(moment.seconds)).formatted(style)
    }

    static func moment(_ text: String) -> Date? { try? style.parse(text) }
}
