package import FileProvider
import Foundation
package import HTTPTransport
package import Logging
import Synchronization

/// A folder on a WebDAV server (RFC 4918): Apache mod_dav, Nextcloud, ownCloud, rclone, WsgiDAV and others.
///
/// The initializer makes no request, so that a domain can be mounted offline; the first real request first looks at the
/// server.
package final class WebDAVProvider: Invalidatable, SigningIn {
    let client: DAVClient
    let root: HTTPLocation
    let settings: WebDAVSettings
    let places = Places()
    let logger: Logger
    private let domain = Mutex<(any FileProviderDomain)?>(nil)
    let probe: ServerProbe
    let moves = FolderMoves()
    let recent = RecentVersions()
    let habits = ServerHabits()
    let finder = CloudFinder()
    let push = CloudPush()
    let above = FoldersAbove()
    let collections = SyncCollections()
    let listings = OpenListings()
    /// For searches in the folders near one, for an item moved out of it.
    let vicinities = FolderSearches()
    private let searches = FolderSearches()

    /// - Parameters:
    ///   - root: the mounted folder.
    ///   - credentials: used when the server asks for them.
    /// - Throws: when a file of certificates cannot be read.
    package init(
        root: HTTPLocation, settings: WebDAVSettings = WebDAVSettings(), credentials: any CredentialSource,
        logger: Logger
    ) throws(FileProviderError) {
        self.root = root.asFolder(true)
        self.settings = settings
        self.logger = logger
        let transport = try HTTPTransport(settings: settings.http, credentials: credentials, logger: logger)
        client = DAVClient(transport: transport, settings: settings, logger: logger)
        probe = ServerProbe(client: client, root: self.root, logger: logger)
    }

    package var providerIdentifier: String { "hydrant.webdav" }

    package func beginServing(_ domain: any FileProviderDomain) async throws(FileProviderError) {
        self.domain.withLock { $0 = domain }
    }

    package func invalidate() async {
        listings.giveUpAll()
        push.end()
        await client.turns.endAll(client)
        await client.transport.shutdown()
        await push.hasEnded()
    }

    /// The password may have changed.
    package func credentialMayHaveChanged() {
        client.transport.credentialMayHaveChanged()
        push.tryNow()
    }

    // MARK: Places of items

    var catalog: (any FileProviderDomain)? { domain.withLock { $0 } }

    /// Nil: unknown, or known to be gone.
    func place(of identifier: ItemIdentifier) async throws(FileProviderError) -> Place? {
        if let place = places.place(of: identifier) { return place }
        let known = try await catalog?.knownItem(identifier)
        let place = known.map { Place(parent: $0.parentIdentifier, name: $0.filename) }
        guard let place = place ?? PathIdentifier.place(of: identifier) else { return nil }
        // Another item is there by now.
        if let holder = places.holder(of: place), holder != identifier { return nil }
        return place
    }

    func location(of identifier: ItemIdentifier, isFolder: Bool = false) async throws(FileProviderError) -> HTTPLocation
    {
        var names: [Filename] = []
        var current = identifier
        while current != .rootContainer {
            guard let place = try await place(of: current), names.count < 1_000 else { throw gone(identifier) }
            try checkName(place.name)
            names.append(place.name)
            current = place.parent
        }
        return HTTPLocation(
            origin: root.origin, components: root.components + names.reversed().map(\.bytes),
            isFolder: isFolder || identifier == .rootContainer)
    }

    /// - Throws: for a name that cannot be requested: the HTTP library's URLs are text.
    func checkName(_ name: Filename) throws(FileProviderError) {
        if let problem = name.problem { throw FileProviderError(.invalidName, "“\(name)”: \(problem)") }
        guard String(validating: name.bytes, as: UTF8.self) != nil else {
            throw FileProviderError(.invalidName, "“\(name)”: over WebDAV a name must be UTF-8; rename it")
        }
        guard Leftover(name) == nil else {
            throw FileProviderError(
                .invalidName, "“\(name)”: Hydrant reserves such names on a WebDAV server; rename it")
        }
        if probe.traitsIfKnown?.family == .ownCloud {
            if name.string.precomposedStringWithCanonicalMapping.utf8.elementsEqual(name.bytes) == false {
                throw FileProviderError(
                    .invalidName,
                    "“\(name)”: this server keeps only names in composed Unicode (NFC); rename it")
            }
            let plain = name.string.lowercased()
            if plain == ".htaccess" || plain.hasSuffix(".part") || plain.hasSuffix(".filepart") {
                throw FileProviderError(
                    .invalidName, "“\(name)”: this server takes no document of this name; rename it")
            }
        }
    }

    func gone(_ identifier: ItemIdentifier) -> FileProviderError {
        if identifier == .rootContainer {
            return FileProviderError(.noSuchItem, "\(root): the server no longer has this folder")
        }
        return FileProviderError(.noSuchItem, "\(identifier): is not on the server")
    }

    /// Runs `body` at the place of an item, and again at its new place if the item has moved: a folder above may just
    /// be moving, or another client may have renamed it.
    ///
    /// - Parameter body: returns nil when nothing is at this place.
    /// - Throws: ``FileProviderError/Code/noSuchItem``.
    func reach<T: Sendable>(
        _ identifier: ItemIdentifier, isFolder: Bool = false,
        _ body: (HTTPLocation) async throws(FileProviderError) -> T?
    ) async throws(FileProviderError) -> T {
        var tried: Set<HTTPLocation> = []
        var hasSearched = false
        while true {
            let location: HTTPLocation
            do throws(FileProviderError) {
                location = try await self.location(of: identifier, isFolder: isFolder)
            } catch {
                guard error.code == .noSuchItem, !hasSearched, try await findByNumber(identifier) else { throw error }
                hasSearched = true
                continue
            }
            if tried.insert(location).inserted {
                if let result = try await body(location) { return result }
                await moves.settled()
                continue
            }
            guard !hasSearched, identifier != .rootContainer else { throw gone(identifier) }
            hasSearched = true
            try await search(for: identifier)
        }
    }

    /// Runs `body` at a folder, and again at its new place: the folder, or one above it, may just be moving.
    func within<T: Sendable>(
        _ folder: ItemIdentifier, _ body: (HTTPLocation) async throws(FileProviderError) -> T
    ) async throws(FileProviderError) -> T {
        let place = try await location(of: folder, isFolder: true)
        do throws(FileProviderError) { return try await body(place) } catch {
            guard error.code == .noSuchItem else { throw error }
            await moves.settled()
            let moved = try await location(of: folder, isFolder: true)
            guard moved != place else { throw error }
            return try await body(moved)
        }
    }

    /// Looks for an item that is not at its place: first at the target of a move of ours, then under another name in
    /// its folder.
    private func search(for identifier: ItemIdentifier) async throws(FileProviderError) {
        if let attempted = places.attempted(identifier) {
            let location = try await location(of: attempted.parent, isFolder: true).appending(attempted.name.bytes)
            let isThere = try await client.propfind(location) != nil
            places.endAttempt(identifier)
            if isThere { return places.put(identifier, at: attempted) }
        }
        if try await findByNumber(identifier) { return }
        guard let place = try await place(of: identifier) else { return }
        // The folder may be gone too.
        if let failure = await list(again: place.parent), failure.code != .noSuchItem { throw failure }
        guard try await self.place(of: identifier) == place, try await isRecognizable(identifier) else { return }
        _ = await vicinities.search(place.parent) { [self] () async -> FileProviderError? in
            do throws(FileProviderError) {
                try await listVicinity(of: place.parent)
                return nil
            } catch { return error }
        }
    }

    /// Shared by all searches of the folder.
    func list(again folder: ItemIdentifier) async -> FileProviderError? {
        await searches.search(folder) { [self] () async -> FileProviderError? in
            do throws(FileProviderError) {
                try await list(folder)
                return nil
            } catch { return error }
        }
    }
}

/// Our own moves of folders under way: items in such a folder cannot be found for a moment.
final class FolderMoves: Sendable {
    private let running = Mutex<[UInt64: Task<Void, Never>]>([:])
    private let number = Mutex<UInt64>(0)

    func during<T: Sendable>(
        _ body: () async throws(FileProviderError) -> T
    ) async throws(FileProviderError) -> T {
        let (stream, end) = AsyncStream<Void>.makeStream()
        let id = number.withLock { number in
            number += 1
            return number
        }
        running.withLock { $0[id] = Task { for await _ in stream {} } }
        defer {
            running.withLock { $0[id] = nil }
            end.finish()
        }
        return try await body()
    }

    /// Returns when the moves under way have ended.
    func settled() async {
        for task in running.withLock({ Array($0.values) }) { await task.value }
    }
}

extension WebDAVProvider: ParallelUploading {
    package var uploadsAtOnce: Int {
        max(client.transport.transfers, client.sights.haveShared ? FolderSights.uploadsToSee : 0)
    }
}
