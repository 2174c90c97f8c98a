import FileProvider
import Foundation
import ProcessProvider
import Synchronization

/// The program's side of the provider protocol, for any provider of the SDK.
final class PeerServer: Sendable {
    private let provider: any FileProviderExtension
    private let abilities: ProviderAbilities
    private let following = Mutex<Task<Void, Never>?>(nil)

    init(_ provider: any FileProviderExtension) {
        self.provider = provider
        abilities = ProviderAbilities(of: provider)
    }

    /// Serves a connected socket until the other side hangs up.
    func serve(_ socket: Int32) async throws {
        let connection = try await Connection.over(
            socket, name: "hydrant", patience: Patience(),
            Connection.Handler(
                request: { [self] request, connection in await answer(request, connection) },
                notice: { [self] method, _, _ in
                    if method == .credentialMayHaveChanged { abilities.accounts?.credentialMayHaveChanged() }
                }))
        connection.notify(.hello, Message.Hello(versions: [1, 2]))
        _ = await connection.run()
        following.withLock { $0?.cancel() }
    }

    private var said: Message.Abilities {
        var said = Message.Abilities(providerIdentifier: provider.providerIdentifier)
        said.documentGroup = provider.documentGroup
        said.isReadOnly = provider.isReadOnly
        said.answersPersistentIdentifiers = true
        let has: [(Ability, Bool)] = [
            (.changeEnumerating, abilities.changes != nil), (.changeSignaling, abilities.signals != nil),
            (.folderVersioning, abilities.versions != nil), (.metadataUpdating, abilities.metadata != nil),
            (.serverSideCopying, abilities.copies != nil), (.trashing, abilities.trash?.hasTrash == true),
            (.thumbnailProviding, abilities.thumbnails != nil),
            (.thumbnailKeeping, abilities.keptThumbnails?.keepsThumbnails == true),
            (.quotaReporting, abilities.space != nil), (.searchingProvider, abilities.searching?.canSearch == true),
            (.versionKeeping, abilities.keptVersions?.keepsVersions == true),
            (.signingIn, abilities.accounts != nil), (.linkSharing, abilities.links != nil),
            (.trashRestoring, abilities.openTrash?.hasTrash == true),
            (.favoriteKeeping, abilities.favorites?.keepsFavorites == true),
        ]
        // A name from a later version of the protocol is ignored.
        said.abilities = has.filter(\.1).map(\.0.rawValue) + ["TimeTravelling"]
        return said
    }

    private func answer(_ request: ServedRequest, _ connection: Connection) async {
        do throws(FileProviderError) {
            switch Method(rawValue: request.name) {
            case .initialize: request.answer(said)
            case .beginServing: try await beginServing(request, connection)
            case .invalidate:
                await (provider as? any Invalidatable)?.invalidate()
                request.answer(Message.Nothing())
            case .signOut:
                await abilities.accounts?.signOut()
                request.answer(Message.Nothing())
            case .persistentIdentifierForItem, .urlForItem: try await identify(request, connection)
            case .thumbnail, .keepThumbnail, .startProvidingVersion, .startProvidingItem, .itemChanged, .createItem:
                try await transfer(request, connection)
            case .setFavorite, .shareLink, .sharedLinks, .endSharedLink, .trashedItems, .restoreTrashedItem:
                try await features(request)
            case .some(let method): try await simple(method, request)
            case nil: break
            }
        } catch {
            request.answer(error)
        }
    }

    private func beginServing(_ request: ServedRequest, _ connection: Connection) async throws(FileProviderError) {
        let params = try request.params(Message.BeginServing.self)
        try await provider.beginServing(PeerDomain(params, provider.providerIdentifier, connection, request: nil))
        if let signals = abilities.signals {
            let stream = signals.changeSignals()
            let task = Task {
                for await signal in stream { connection.notify(.changed, Message.Changed(signal)) }
            }
            following.withLock { $0 = task }
        }
        request.answer(Message.Nothing())
    }

    private func identify(_ request: ServedRequest, _ connection: Connection) async throws(FileProviderError) {
        // (No provider here asks the domain for its URL.)
        let place = Message.BeginServing(documentStorageURL: "file:///hydrant-conformance/documents/")
        let domain = PeerDomain(place, provider.providerIdentifier, connection, request: request.id)
        if request.name == Method.urlForItem.rawValue {
            let params = try request.params(Message.Identified.self)
            let url = try await provider.urlForItem(withPersistentIdentifier: params.identifier, in: domain)
            return request.answer(Message.Located(url: url.absoluteString))
        }
        let params = try request.params(Message.Located.self)
        guard let url = URL(string: params.url) else { throw FileProviderError(.invalidName, params.url) }
        request.answer(
            Message.Identified(identifier: try await provider.persistentIdentifierForItem(at: url, in: domain)))
    }

    private func transfer(_ request: ServedRequest, _ connection: Connection) async throws(FileProviderError) {
        func source(_ contents: Message.Contents) -> PeerSource {
            PeerSource(size: contents.size, request: request.id, connection: connection)
        }
        switch Method(rawValue: request.name) {
        case .startProvidingItem:
            let params = try request.params(Message.Download.self)
            try await provider.startProvidingItem(
                params.identifier, version: ContentVersion(bytes: params.version.bytes),
                range: params.offset..<(params.offset + params.length), into: PeerSink(request: request))
            request.answer(Message.Nothing())
        case .itemChanged:
            let params = try request.params(Message.Change.self)
            request.answer(
                Message.ItemAnswer(
                    try await provider.itemChanged(
                        params.identifier, contents: source(params.contents), metadata: params.metadata.value,
                        baseVersion: params.baseVersion.value)))
        case .createItem:
            let params = try request.params(Message.Create.self)
            request.answer(
                Message.ItemAnswer(
                    try await provider.createItem(params.template.value, contents: params.contents.map(source))))
        case .startProvidingVersion:
            guard let keeping = abilities.keptVersions else { return }
            let params = try request.params(Message.ProvideVersion.self)
            try await keeping.startProvidingVersion(
                params.version.value, of: params.identifier, into: PeerSink(request: request))
            request.answer(Message.Nothing())
        case .thumbnail:
            guard let thumbnails = abilities.thumbnails else { return }
            let params = try request.params(Message.Thumbnail.self)
            let picture = try await thumbnails.thumbnail(
                of: params.identifier, version: ContentVersion(bytes: params.version.bytes), size: params.size)
            if let picture { try await request.send(picture.bytes, at: 0) }
            request.answer(Message.ThumbnailAnswer(hasThumbnail: picture != nil))
        default:
            guard let thumbnails = abilities.keptThumbnails else { return }
            let params = try request.params(Message.KeepThumbnail.self)
            let bytes = try await source(params.contents).read(at: 0, upTo: Int(params.contents.size))
            try await thumbnails.keepThumbnail(
                Thumbnail(bytes: bytes), of: params.identifier, version: ContentVersion(bytes: params.version.bytes))
            request.answer(Message.Nothing())
        }
    }

    private func features(_ request: ServedRequest) async throws(FileProviderError) {
        switch Method(rawValue: request.name) {
        case .setFavorite:
            let params = try request.params(Message.SetFavorite.self)
            guard let favorites = abilities.favorites else { return }
            request.answer(
                Message.ItemAnswer(try await favorites.setFavorite(params.isFavorite, of: params.identifier)))
        case .shareLink:
            let params = try request.params(Message.ShareLink.self)
            guard let links = abilities.links else { return }
            request.answer(
                Message.LinkAnswer(try await links.shareLink(to: params.identifier, terms: params.terms)))
        case .sharedLinks:
            let params = try request.params(Message.Identified.self)
            guard let links = abilities.links else { return }
            await request.answer(list: Message.Links(try await links.sharedLinks(to: params.identifier)))
        case .endSharedLink:
            let params = try request.params(Message.EndLink.self)
            try await abilities.links?.endSharedLink(params.link, to: params.identifier)
            request.answer(Message.Nothing())
        case .trashedItems:
            guard let trash = abilities.openTrash else { return }
            await request.answer(list: Message.Trash(try await trash.trashedItems()))
        default:
            let params = try request.params(Message.Restore.self)
            guard let trash = abilities.openTrash else { return }
            request.answer(Message.RestoredPlace(try await trash.restoreTrashedItem(params.trashed)))
        }
    }

    private func simple(_ method: Method, _ request: ServedRequest) async throws(FileProviderError) {
        switch method {
        case .providePlaceholder:
            let params = try request.params(Message.Identified.self)
            request.answer(Message.ItemAnswer(try await provider.providePlaceholder(for: params.identifier)))
        case .enumerateItems:
            let params = try request.params(Message.Enumerate.self)
            let page = params.page.map { Page(bytes: $0.bytes) }
            await request.answer(
                list: Message.Items(try await provider.enumerateItems(in: params.folder, startingAt: page)))
        case .stopProvidingItem:
            let params = try request.params(Message.Identified.self)
            request.answer(Message.Disposition(await provider.stopProvidingItem(params.identifier)))
        case .moveItem:
            let params = try request.params(Message.Move.self)
            request.answer(
                Message.ItemAnswer(
                    try await provider.moveItem(
                        params.identifier, to: params.folder, as: Filename(bytes: params.filename.bytes),
                        baseVersion: params.baseVersion.value)))
        case .deleteItem:
            let params = try request.params(Message.Delete.self)
            try await provider.deleteItem(params.identifier, baseVersion: params.baseVersion.value)
            request.answer(Message.Nothing())
        case .trashItem:
            let params = try request.params(Message.Delete.self)
            try await abilities.trash?.trashItem(params.identifier, baseVersion: params.baseVersion.value)
            request.answer(Message.Nothing())
        case .updateMetadata:
            guard let metadata = abilities.metadata else { return }
            let params = try request.params(Message.UpdateMetadata.self)
            request.answer(
                Message.ItemAnswer(
                    try await metadata.updateMetadata(
                        params.identifier, to: params.metadata.value, baseVersion: params.baseVersion.value)))
        case .copyItem:
            guard let copies = abilities.copies else { return }
            let params = try request.params(Message.Copy.self)
            request.answer(
                Message.ItemAnswer(
                    try await copies.copyItem(
                        params.identifier, version: ContentVersion(bytes: params.version.bytes),
                        as: params.template.value)))
        case .currentSyncAnchor:
            guard let changes = abilities.changes else { return }
            request.answer(Message.Anchor(try await changes.currentSyncAnchor()))
        case .enumerateChanges:
            guard let changes = abilities.changes else { return }
            let params = try request.params(Message.Anchor.self)
            await request.answer(list: Message.Changes(try await changes.enumerateChanges(from: params.value)))
        case .folderVersion:
            guard let versions = abilities.versions else { return }
            let params = try request.params(Message.Folder.self)
            request.answer(Message.FolderVersion(version: try await versions.folderVersion(of: params.folder)))
        case .quota:
            guard let space = abilities.space else { return }
            request.answer(Message.Quota(try await space.quota()))
        case .versions:
            guard let keeping = abilities.keptVersions else { return }
            let params = try request.params(Message.Versions.self)
            await request.answer(
                list: Message.VersionList(try await keeping.versions(of: params.identifier, limit: params.limit)))
        case .search:
            guard let searching = abilities.searching else { return }
            let params = try request.params(Message.Search.self)
            await request.answer(list: Message.Findings(try await searching.search(params.value)))
        // The connection refuses it.
        default: break
        }
    }
}

private struct PeerSink: ContentSink {
    let request: ServedRequest
    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        try await request.send(bytes, at: offset)
    }
}

private struct PeerSource: ContentSource {
    let size: Int64
    let request: UInt64
    let connection: Connection

    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        try await read(offset, count, isLocal: false)
    }

    func readLocally(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        try await read(offset, count, isLocal: true)
    }

    private func read(_ offset: Int64, _ count: Int, isLocal: Bool) async throws(FileProviderError) -> [UInt8] {
        let sink = CollectedBytes()
        let _: Message.Nothing = try await connection.call(
            .readContents,
            Message.ReadContents(request: request, offset: offset, length: Int64(count), isLocal: isLocal), into: sink)
        return sink.bytes
    }
}

private final class CollectedBytes: ContentSink {
    private let held = Mutex<[UInt8]>([])
    var bytes: [UInt8] { held.withLock { $0 } }
    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        held.withLock { $0 += bytes }
    }
}
