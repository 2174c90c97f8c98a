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
            guard let resource = try await client.resource(location), try await item(identifier, resource) != nil,
                let path = cloud.path(of: location)
            else { return nil }
            let ask = LinkQuestion(
                client: client, links: cloud.links, path: path, name: Filename(bytes: location.components.last ?? []))
            return try await ask.make(terms, isFolder: resource.isFolder)
        }
    }

    package func sharedLinks(to identifier: ItemIdentifier) async throws(FileProviderError) -> [SharedLink] {
        let cloud = try await linkPlaces()
        return try await reach(identifier) { location throws(FileProviderError) in
            try await ask(identifier, location, cloud)?.list().compactMap(\.link)
        }
    }

    package func endSharedLink(_ link: String, to identifier: ItemIdentifier) async throws(FileProviderError) {
        let cloud = try await linkPlaces()
        try await reach(identifier) { location throws(FileProviderError) -> Void? in
            guard let ask = try await ask(identifier, location, cloud) else { return nil }
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
    ) async throws(FileProviderError) -> LinkQuestion? {
        guard let resource = try await client.resource(location), try await item(identifier, resource) != nil,
            let path = cloud.path(of: location)
        else { return nil }
        return LinkQuestion(
            client: client, links: cloud.links, path: path, name: Filename(bytes: location.components.last ?? []))
    }
}

extension CloudPlaces {
    fileprivate var links: HTTPLocation { page(["ocs", "v2.php", "apps", "files_sharing", "api", "v1", "shares"]) }
}

/// What the server says of one share.
private struct CloudShare: Decodable {
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
private enum CloudDay {
    private static var style: Date.ISO8601FormatStyle {
        Date.ISO8601FormatStyle(timeZone: .current).year().month().day()
    }

    static func text(_ moment: FileTime) -> String {
        Date(timeIntervalSince1970: Double(moment.seconds)).formatted(style)
    }

    static func moment(_ text: String) -> Date? { try? style.parse(text) }
}

/// Questions about the shares of one item.
private struct LinkQuestion {
    let client: DAVClient
    let links: HTTPLocation
    /// From the user's topmost folder on.
    let path: String
    let name: Filename

    /// Makes a link, and takes it back if the server made another one than was asked for.
    func make(_ terms: LinkTerms, isFolder: Bool) async throws(FileProviderError) -> SharedLink {
        let rights =
            terms.allowsEditing ? (isFolder ? CloudShare.toEditFolder : CloudShare.toEditDocument) : CloudShare.toRead
        var fields = [("path", path), ("shareType", "3"), ("permissions", "\(rights)")]
        if terms.allowsEditing, isFolder { fields.append(("publicUpload", "true")) }
        if let password = terms.password { fields.append(("password", password)) }
        let day = terms.until.map { CloudDay.text($0) }
        if let day { fields.append(("expireDate", day)) }
        // (Not sent twice: each is another link.)
        var share: CloudShare = try await send("POST", links, fields, retries: .never)
        do throws(FileProviderError) {
            if terms.allowsEditing != share.allowsChanges {
                share = try await send("PUT", place(share.id), [("permissions", "\(rights)")])
            }
            let problem: String? =
                if terms.allowsEditing, !share.allowsEditing {
                    "the server allows no changes with a link"
                } else if !terms.allowsEditing, share.allowsChanges {
                    "the server allows changes with every link; add --edit if they may be made"
                } else if terms.password != nil, !share.hasPassword {
                    "the server sets no password"
                } else if let day, share.day.map({ $0 > day }) ?? true {
                    "the server lets the link end only on \(share.day ?? "no day")"
                } else if share.link == nil {
                    "the server made no link"
                } else {
                    nil
                }
            if let problem { throw FileProviderError(.unsupported, "“\(name)”: \(problem); no link was made") }
        } catch {
            // Also when the caller has gone: a link with other terms must not stay.
            let (ask, id) = (self, share.id)
            _ = await Task { try? await ask.end(id) }.value
            throw error
        }
        guard let link = share.link else { throw noLink(share.id) }
        return link
    }

    /// The public links among the item's shares.
    func list() async throws(FileProviderError) -> [CloudShare] {
        let query = "path=\(PercentCoding.encode(path.utf8))&reshares=false"
        let place = HTTPLocation(
            origin: links.origin, components: links.components, isFolder: false, query: query)
        let all: [CloudShare] = try await send("GET", place, [], retries: .always)
        return all.filter(\.isLink)
    }

    func end(_ id: String) async throws(FileProviderError) {
        let request = HTTPRequest("DELETE", place(id), headers: Self.headers, retries: .always)
        let (status, message) = try await client.transport.exchange(request) { reply in
            (reply.status, Self.message(try await reply.prefix(Self.largestAnswer)))
        }
        if status == 404 { throw noLink(id) }
        guard status == 200 else { throw refusal(status, message) }
    }

    func noLink(_ id: String) -> FileProviderError {
        FileProviderError(.noSuchItem, "“\(name)”: has no link \(id)")
    }

    private func place(_ id: String) -> HTTPLocation { links.appending(Array(id.utf8)) }

    private static let headers = [("OCS-APIRequest", "true"), ("Accept", "application/json")]
    /// In bytes.
    private static let largestAnswer = 4 << 20

    private struct Answer<Value: Decodable>: Decodable {
        struct Body: Decodable { var data: Value }
        var ocs: Body
    }

    private struct Failure: Decodable {
        struct Body: Decodable {
            struct Meta: Decodable { var message: String? }
            var meta: Meta
        }
        var ocs: Body
    }

    private static func message(_ answer: [UInt8]) -> String? {
        let text = (try? JSONDecoder().decode(Failure.self, from: Data(answer)))?.ocs.meta.message
        guard var text, !text.isEmpty else { return nil }
        if text.hasSuffix(".") { text.removeLast() }
        return String(text.prefix(500))
    }

    private func send<Value: Decodable>(
        _ method: String, _ place: HTTPLocation, _ fields: [(String, String)],
        retries: HTTPRequest.Retries = .always
    ) async throws(FileProviderError) -> Value {
        var request = HTTPRequest(method, place, headers: Self.headers, retries: retries)
        if !fields.isEmpty {
            let body = fields.map { "\($0)=\(PercentCoding.encode($1.utf8))" }.joined(separator: "&")
            request.headers.append(("Content-Type", "application/x-www-form-urlencoded"))
            request.body = .bytes(Array(body.utf8))
        }
        let (status, answer) = try await client.transport.exchange(request) { reply in
            (reply.status, try await reply.prefix(Self.largestAnswer))
        }
        guard status == 200 else { throw refusal(status, Self.message(answer)) }
        do { return try JSONDecoder().decode(Answer<Value>.self, from: Data(answer)).ocs.data } catch {
            throw FileProviderError(
                .unsupported,
                "“\(name)”: the server's answer about links cannot be read; are shares switched off there?")
        }
    }

    /// - Parameter message: the server's reason, for people.
    private func refusal(_ status: Int, _ message: String?) -> FileProviderError {
        let reason = message.map { ": \($0)" } ?? ""
        switch status {
        case 400, 404:
            return FileProviderError(.unsupported, "“\(name)”: the server makes no such link (\(status))\(reason)")
        case 403:
            return FileProviderError(.permissionDenied, "“\(name)”: the server does not allow this (403)\(reason)")
        default:
            return HTTPFailure.error(status: status, "“\(name)”", links.origin)
                ?? FileProviderError(.cannotSynchronize, "“\(name)”: the server answers \(status)\(reason)")
        }
    }
}
