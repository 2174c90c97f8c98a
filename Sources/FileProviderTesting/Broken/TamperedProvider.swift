import FileProvider
import Foundation

/// A store in memory that answers as its ``Tampering`` says.
final class TamperedProvider: MetadataUpdating, ChangeSignaling, ChangeEnumerating, ServerSideCopying, Trashing,
    TrashRestoring, LinkSharing, FavoriteKeeping, ThumbnailKeeping, VersionKeeping,
    QuotaReporting, SearchingProvider
{
    typealias Failure = FileProviderError
    private let base: InMemoryProvider
    private let tampering: Tampering

    init(_ base: InMemoryProvider, _ tampering: Tampering) {
        self.base = base
        self.tampering = tampering
    }

    var isReadOnly: Bool { base.isReadOnly }

    func providePlaceholder(for identifier: ItemIdentifier) async throws(Failure) -> Item {
        try await answering { () async throws(Failure) in
            if let placeholder = tampering.placeholder { return try await placeholder(base, identifier) }
            return try await base.providePlaceholder(for: identifier)
        }
    }

    func enumerateItems(in folder: ItemIdentifier, startingAt page: Page?) async throws(Failure) -> ItemPage {
        var result: ItemPage
        if let enumerate = tampering.enumerate {
            result = try await enumerate(base, folder, page)
        } else {
            result = try await base.enumerateItems(in: folder, startingAt: page)
        }
        result.items = result.items.map(tampered)
        return result
    }

    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(Failure) {
        try await pass { () async throws(Failure) in
            if let download = tampering.download {
                return try await download(base, identifier, version, range, sink)
            }
            try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
        }
    }

    func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        try await answering { () async throws(Failure) in
            if let change = tampering.change {
                return try await change(base, identifier, contents, metadata, baseVersion)
            }
            return try await base.itemChanged(
                identifier, contents: contents, metadata: metadata, baseVersion: baseVersion)
        }
    }

    func stopProvidingItem(_ identifier: ItemIdentifier) async -> ContentDisposition {
        if let stop = tampering.stop { return await stop(base, identifier) }
        return await base.stopProvidingItem(identifier)
    }

    func createItem(_ template: ItemTemplate, contents: (any ContentSource)?) async throws(Failure) -> Item {
        try await answering { () async throws(Failure) in
            if let create = tampering.create { return try await create(base, template, contents) }
            return try await base.createItem(template, contents: contents)
        }
    }

    func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        try await answering { () async throws(Failure) in
            if let move = tampering.move { return try await move(base, identifier, folder, filename, baseVersion) }
            return try await base.moveItem(identifier, to: folder, as: filename, baseVersion: baseVersion)
        }
    }

    func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(Failure) {
        try await pass { () async throws(Failure) in
            if let delete = tampering.delete { return try await delete(base, identifier, baseVersion) }
            try await base.deleteItem(identifier, baseVersion: baseVersion)
        }
    }

    func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(Failure) -> Item {
        try await answering { () async throws(Failure) in
            if let update = tampering.update { return try await update(base, identifier, metadata, baseVersion) }
            return try await base.updateMetadata(identifier, to: metadata, baseVersion: baseVersion)
        }
    }

    func changeSignals() -> AsyncStream<ChangeSignal> { tampering.signals?(base) ?? base.changeSignals() }

    func currentSyncAnchor() async throws(Failure) -> SyncAnchor {
        if let anchor = tampering.anchor { return try await anchor(base) }
        return try await base.currentSyncAnchor()
    }

    func enumerateChanges(from anchor: SyncAnchor) async throws(Failure) -> ChangePage {
        var page: ChangePage
        if let changes = tampering.changes {
            page = try await changes(base, anchor)
        } else {
            page = try await base.enumerateChanges(from: anchor)
        }
        page.updated = page.updated.map(tampered)
        return page
    }

    func copyItem(
        _ identifier: ItemIdentifier, version: ContentVersion, as template: ItemTemplate
    ) async throws(Failure) -> Item {
        try await answering { () async throws(Failure) in
            if let copy = tampering.copy { return try await copy(base, identifier, version, template) }
            return try await base.copyItem(identifier, version: version, as: template)
        }
    }

    func trashItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(Failure) {
        try await pass { () async throws(Failure) in
            if let trash = tampering.trash { return try await trash(base, identifier, baseVersion) }
            try await base.trashItem(identifier, baseVersion: baseVersion)
        }
    }

    func trashedItems() async throws(Failure) -> [TrashEntry] {
        if let trashed = tampering.trashed { return try await trashed(base) }
        return try await base.trashedItems()
    }

    func restoreTrashedItem(_ trashed: String) async throws(Failure) -> [Filename]? {
        if let restore = tampering.restore { return try await restore(base, trashed) }
        return try await base.restoreTrashedItem(trashed)
    }

    func shareLink(to identifier: ItemIdentifier, terms: LinkTerms) async throws(Failure) -> SharedLink {
        if let share = tampering.share { return try await share(base, identifier, terms) }
        return try await base.shareLink(to: identifier, terms: terms)
    }

    func sharedLinks(to identifier: ItemIdentifier) async throws(Failure) -> [SharedLink] {
        if let links = tampering.links { return try await links(base, identifier) }
        return try await base.sharedLinks(to: identifier)
    }

    func endSharedLink(_ link: String, to identifier: ItemIdentifier) async throws(Failure) {
        if let endLink = tampering.endLink { return try await endLink(base, link, identifier) }
        try await base.endSharedLink(link, to: identifier)
    }

    func setFavorite(_ isFavorite: Bool, of identifier: ItemIdentifier) async throws(Failure) -> Item {
        try await answering { () async throws(Failure) in
            if let favorite = tampering.favorite { return try await favorite(base, isFavorite, identifier) }
            return try await base.setFavorite(isFavorite, of: identifier)
        }
    }

    func thumbnail(
        of identifier: ItemIdentifier, version: ContentVersion, size: Int
    ) async throws(Failure) -> Thumbnail? {
        if let thumbnail = tampering.thumbnail { return try await thumbnail(base, identifier, version, size) }
        return try await base.thumbnail(of: identifier, version: version, size: size)
    }

    func keepThumbnail(
        _ thumbnail: Thumbnail, of identifier: ItemIdentifier, version: ContentVersion
    ) async throws(Failure) {
        if let keep = tampering.keepThumbnail { return try await keep(base, thumbnail, identifier, version) }
        try await base.keepThumbnail(thumbnail, of: identifier, version: version)
    }

    func versions(of identifier: ItemIdentifier, limit: Int) async throws(Failure) -> [DocumentVersion] {
        if let versions = tampering.versions { return try await versions(base, identifier, limit) }
        return try await base.versions(of: identifier, limit: limit)
    }

    func startProvidingVersion(
        _ version: DocumentVersion, of identifier: ItemIdentifier, into sink: any ContentSink
    ) async throws(Failure) {
        if let provide = tampering.provideVersion { return try await provide(base, version, identifier, sink) }
        try await base.startProvidingVersion(version, of: identifier, into: sink)
    }

    func quota() async throws(Failure) -> StoreQuota {
        if let quota = tampering.quota { return try await quota(base) }
        return try await base.quota()
    }

    func search(_ search: StoreSearch) async throws(Failure) -> StoreFindings {
        if let tampered = tampering.search { return try await tampered(base, search) }
        return try await base.search(search)
    }

    func persistentIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(Failure) -> ItemIdentifier {
        if let persistentIdentifier = tampering.persistentIdentifier {
            return try await persistentIdentifier(url, domain)
        }
        return try await base.persistentIdentifierForItem(at: url, in: domain)
    }

    func urlForItem(
        withPersistentIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(Failure) -> URL {
        if let url = tampering.url { return try await url(identifier, domain) }
        return try await base.urlForItem(withPersistentIdentifier: identifier, in: domain)
    }

    // MARK: Items in answers

    private func tampered(_ item: Item) -> Item { tampering.item?(item) ?? item }

    private func answering(_ body: () async throws(Failure) -> Item) async throws(Failure) -> Item {
        do throws(Failure) { return tampered(try await body()) } catch { throw tampered(error) }
    }

    private func pass(_ body: () async throws(Failure) -> Void) async throws(Failure) {
        do throws(Failure) { try await body() } catch { throw tampered(error) }
    }

    private func tampered(_ error: Failure) -> Failure {
        var error = error
        error.item = error.item.map(tampered)
        return error
    }
}
