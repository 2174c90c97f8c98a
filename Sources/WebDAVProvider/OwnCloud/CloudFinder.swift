import FileProvider
import HTTPTransport
import Synchronization

/// Finds a document or folder by its number, which Nextcloud keeps through every move.
///
/// Source: docs.nextcloud.com, developer manual, WebDAV, search (RFC 5323); ownCloud 10 has no such search.
final class CloudFinder: Sendable {
    private let moments = Mutex<[ContinuousClock.Instant]>([])
    /// Most missing items are deleted, so not every one is looked for.
    private static let most = 1_000
    private static let span = Duration.seconds(60)

    private var mayAsk: Bool {
        moments.withLock { moments in
            moments.removeAll { $0.duration(to: .now) > Self.span }
            guard moments.count < Self.most else { return false }
            moments.append(.now)
            return true
        }
    }

    /// - Returns: nil: no item has the number, or the server cannot tell.
    func find(
        _ number: Int64, _ cloud: CloudPlaces, _ client: DAVClient
    ) async throws(FileProviderError) -> HTTPLocation? {
        guard mayAsk else {
            throw FileProviderError(
                .busy, "\(number): Hydrant looks for it later, after a thousand other searches")
        }
        var found: HTTPLocation?
        let properties: [DAVProperty] = [.resourceType, .lastModified]
        try await cloud.search(for: properties, in: cloud.scope, Self.condition(number), limit: nil, client) {
            found = found ?? $0.first.flatMap { cloud.service.resolve($0.href) }
        }
        return found
    }

    /// As ``find(_:_:_:)``, for many numbers, with few questions; those that no item has are left out.
    func findAll(
        _ numbers: [Int64], _ cloud: CloudPlaces, _ client: DAVClient
    ) async throws(FileProviderError) -> [Int64: HTTPLocation] {
        var found: [Int64: HTTPLocation] = [:]
        for start in stride(from: 0, to: numbers.count, by: Self.atOnce) {
            guard mayAsk else {
                throw FileProviderError(.busy, "Hydrant looks for changed items later, after a thousand other searches")
            }
            let conditions = numbers[start..<min(start + Self.atOnce, numbers.count)].map(Self.condition)
            let condition = conditions.count == 1 ? conditions[0] : "<D:or>\(conditions.joined())</D:or>"
            let properties: [DAVProperty] = [.resourceType, .lastModified, .fileID]
            try await cloud.search(for: properties, in: cloud.scope, condition, limit: nil, client) {
                for response in $0 {
                    guard let number = response.properties[.fileID].flatMap({ Int64($0) }) else { continue }
                    found[number] = cloud.service.resolve(response.href)
                }
            }
        }
        return found
    }

    private static let atOnce = 50

    private static func condition(_ number: Int64) -> String {
        "<D:eq>\(DAVProperty.list([.fileID]))<D:literal>\(number)</D:literal></D:eq>"
    }
}

extension WebDAVProvider {
    /// Finds where an item is now, with the folders above it, and registers the places.
    ///
    /// - Returns: false: not found.
    func findByNumber(_ identifier: ItemIdentifier) async throws(FileProviderError) -> Bool {
        guard let cloud = probe.traitsIfKnown?.cloud, identifier.rawValue.hasPrefix("f:"),
            let number = Int64(identifier.rawValue.dropFirst(2)),
            let location = try await finder.find(number, cloud, client), let names = location.components(below: root),
            let name = names.last
        else { return false }
        var (parent, folder) = (ItemIdentifier.rootContainer, root)
        for name in names.dropLast() {
            folder = folder.appending(name, isFolder: true)
            guard let own = try await client.resource(folder)?.identifier else { return false }
            let place = Place(parent: parent, name: Filename(bytes: name))
            parent = ItemIdentifier(own)
            places.put(parent, at: place)
        }
        places.put(identifier, at: Place(parent: parent, name: Filename(bytes: name)))
        return true
    }
}
