import FileProvider
import HTTPTransport
import Synchronization
import XMLStream

/// The last listings of folders, on servers that report what changed since (`sync-collection`, RFC 6578): then this
/// asks for the changes only.
final class SyncCollections: Sendable {
    struct Known: Sendable {
        var listing: Listing
        var token: String
        /// The time of the last complete listing.
        var listed: ContinuousClock.Instant
    }
    private struct State {
        var known: [HTTPLocation: Known] = [:]
        /// The most recently used folder is at the end.
        var order: [HTTPLocation] = []
        var entries = 0
    }
    private let state = Mutex(State())
    /// Over all folders, in memory.
    static let mostEntries = 20_000
    /// A change that a server forgot to report is seen after so long.
    private static let trust = Duration.seconds(900)

    func known(_ folder: HTTPLocation) -> Known? {
        state.withLock { state in
            guard let known = state.known[folder], known.listed.duration(to: .now) < Self.trust else { return nil }
            return known
        }
    }

    /// - Parameter isWhole: the server has just sent a complete listing.
    func keep(_ listing: Listing, at folder: HTTPLocation, token: String, isWhole: Bool) {
        state.withLock { state in
            let listed = isWhole ? .now : state.known[folder]?.listed ?? .now
            Self.forget(folder, &state)
            guard listing.count <= Self.mostEntries else { return }
            state.known[folder] = Known(listing: listing, token: token, listed: listed)
            state.order.append(folder)
            state.entries += listing.count
            while state.entries > Self.mostEntries, let oldest = state.order.first { Self.forget(oldest, &state) }
        }
    }

    func forget(_ folder: HTTPLocation) { state.withLock { Self.forget(folder, &$0) } }

    private static func forget(_ folder: HTTPLocation, _ state: inout State) {
        guard let known = state.known.removeValue(forKey: folder) else { return }
        state.entries -= known.listing.count
        state.order.removeAll { $0 == folder }
    }
}

extension Listing {
    /// The number of entries kept.
    var count: Int { entries.count + leftovers.count + leftOut.count }

    fileprivate mutating func remove(_ names: Set<Filename>) {
        entries.removeAll { names.contains($0.name) }
        leftovers.removeAll { names.contains($0.name) }
    }
}

extension WebDAVProvider {
    /// Changed entries are looked at one by one, as servers differ in how much of an entry they report. Beyond so many,
    /// the whole folder is listed.
    private static let mostChanges = 32

    /// The listing of a folder from its last listing and the changes since; nil: it must be listed completely.
    func readChanges(in folder: HTTPLocation) async throws(FileProviderError) -> Listing? {
        guard let known = collections.known(folder) else { return nil }
        guard let (names, token) = try await changedNames(in: folder, since: known.token) else {
            collections.forget(folder)
            return nil
        }
        if names.isEmpty { return known.listing }
        var listing = known.listing
        listing.remove(names)
        for name in names {
            guard let resource = try await client.resource(folder.appending(name.bytes)) else { continue }
            listing.add(Listing.Entry(name: name, resource: resource))
        }
        collections.keep(listing, at: folder, token: token, isWhole: false)
        return listing
    }

    /// Nil: too many changes, or the server does not know the token any more, or reports no changes.
    private func changedNames(
        in folder: HTTPLocation, since token: String
    ) async throws(FileProviderError) -> (Set<Filename>, token: String)? {
        let question = """
            <?xml version="1.0" encoding="utf-8"?><D:sync-collection xmlns:D="DAV:"><D:sync-token>\(XMLStream.escaped(token))\
            </D:sync-token><D:sync-level>1</D:sync-level>\(DAVProperty.list([.entityTag]))</D:sync-collection>
            """
        let request = HTTPRequest(
            "REPORT", folder, headers: [("Depth", "0"), ("Content-Type", "application/xml; charset=utf-8")],
            body: .bytes(Array(question.utf8)), retries: .always)
        return try await client.transport.exchange(request) { reply in
            guard reply.status == 207 else {
                _ = try? await reply.prefix(64 << 10)
                return nil
            }
            var names: Set<Filename> = []
            var isWhole = true
            let newToken = try await client.read(reply, "\(folder)") { responses in
                for response in responses {
                    guard let below = folder.resolve(response.href)?.components(below: folder), below.count <= 1 else {
                        continue
                    }
                    // 507 for the folder itself: there are more changes than the server reports at a time.
                    if let name = below.first {
                        if names.count <= Self.mostChanges { names.insert(Filename(bytes: name)) }
                    } else {
                        isWhole = isWhole && response.status == nil
                    }
                }
            }
            guard let newToken, !newToken.isEmpty, isWhole, names.count <= Self.mostChanges else { return nil }
            return (names, newToken)
        }
    }

}
