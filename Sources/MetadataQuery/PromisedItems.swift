import ControlAPI
public import Foundation

/// The values of an item that need not be here.
public struct PromisedItemValues: Sendable {
    /// The item.
    public let item: MetadataItem
    /// PNG or JPEG; nil: not asked for, or none exists.
    public let thumbnail: Data?
}

/// Values of items without downloading them.
///
/// Source: Apple, `URL.promisedItemResourceValues(forKeys:)`.
public enum PromisedItems {
    /// The most items in one request.
    private static let most = 500
    /// In seconds.
    private static let patience = 60.0

    /// The values of items, with one request to the daemon of each domain (up to 500 items).
    ///
    /// - Parameters:
    ///   - wantsTags: whether to look up tags.
    ///   - thumbnailSize: the side of the square that thumbnails fit into, 16 to 1,024 pixels; nil: no thumbnails. A
    ///     daemon's
    ///     answer has room for some 8 MB of them; further thumbnails are nil, and can be asked for again.
    /// - Returns: for each URL, in order, its values, or the error.
    public static func values(
        of urls: [URL], wantsTags: Bool = false, thumbnailSize: Int? = nil
    ) async -> [Result<PromisedItemValues, MetadataQueryError>] {
        var results = [Result<PromisedItemValues, MetadataQueryError>](
            repeating: .failure(MetadataQueryError("was not asked for")), count: urls.count)
        var places: [String: [(index: Int, path: PathBytes)]] = [:]
        for (index, url) in urls.enumerated() {
            do {
                let place = try DomainScope.place(of: url)
                places[place.mountPoint, default: []].append((index, place.path))
            } catch { results[index] = .failure(error as? MetadataQueryError ?? MetadataQueryError("\(error)")) }
        }
        for (mountPoint, all) in places {
            for start in stride(from: 0, to: all.count, by: most) {
                let part = all[start..<min(start + most, all.count)]
                let answers = await ask(mountPoint, part.map(\.path), wantsTags, thumbnailSize)
                for (place, answer) in zip(part, answers) { results[place.index] = answer }
            }
        }
        return results
    }

    /// The values of one item.
    ///
    /// - Throws: ``MetadataQueryError``.
    public static func values(
        of url: URL, wantsTags: Bool = false, thumbnailSize: Int? = nil
    ) async throws -> PromisedItemValues {
        try await values(of: [url], wantsTags: wantsTags, thumbnailSize: thumbnailSize)[0].get()
    }

    private static func ask(
        _ mountPoint: String, _ paths: [PathBytes], _ wantsTags: Bool, _ size: Int?
    ) async -> [Result<PromisedItemValues, MetadataQueryError>] {
        func all(_ message: String) -> [Result<PromisedItemValues, MetadataQueryError>] {
            paths.map { _ in .failure(MetadataQueryError("\(mountPoint): \(message)")) }
        }
        do {
            let client = ControlClient(socketPath: try SocketDirectory.socketPath(mountPoint: mountPoint))
            let request = ControlRequest.promised(paths: paths, wantsTags: wantsTags, thumbnail: size)
            switch try await client.send(request, timeout: patience) {
            case .promised(let items) where items.count == paths.count:
                return items.map { promised in
                    guard let item = promised.item else {
                        return .failure(MetadataQueryError(promised.error ?? "the item is gone"))
                    }
                    return .success(
                        PromisedItemValues(
                            item: MetadataItem(item, mountPoint: mountPoint), thumbnail: promised.thumbnail?.picture))
                }
            case .failure(let failure): return all(failure.message)
            default: return all("unexpected answer from the daemon; unmount and mount again")
            }
        } catch { return all("\(error)") }
    }
}
