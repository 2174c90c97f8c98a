public import FileProvider

public import struct Foundation.URL

// The optional abilities and the properties of the wrapped provider.
extension FaultInjectingProvider {
    public var providerIdentifier: String { base.providerIdentifier }
    public var documentGroup: String? { base.documentGroup }
    public var isReadOnly: Bool { base.isReadOnly }

    public func beginServing(_ domain: any FileProviderDomain) async throws(FileProviderError) {
        try await base.beginServing(domain)
    }

    public func persistentIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> ItemIdentifier {
        try await base.persistentIdentifierForItem(at: url, in: domain)
    }

    public func urlForItem(
        withPersistentIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> URL {
        try await base.urlForItem(withPersistentIdentifier: identifier, in: domain)
    }
}

extension FaultInjectingProvider: ChangeSignaling where Base: ChangeSignaling {
    public func changeSignals() -> AsyncStream<ChangeSignal> { base.changeSignals() }
}

extension FaultInjectingProvider: MetadataUpdating where Base: MetadataUpdating {
    public func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await call(.updateMetadata) { [base] () async throws(FileProviderError) in
            try await base.updateMetadata(identifier, to: metadata, baseVersion: baseVersion)
        }
    }
}

extension FaultInjectingProvider: Invalidatable where Base: Invalidatable {
    public func invalidate() async { await base.invalidate() }
}

extension FaultInjectingProvider: ChangeEnumerating where Base: ChangeEnumerating {
    public func currentSyncAnchor() async throws(FileProviderError) -> SyncAnchor {
        try await call(.currentSyncAnchor) { [base] () async throws(FileProviderError) in
            try await base.currentSyncAnchor()
        }
    }

    public func enumerateChanges(from anchor: SyncAnchor) async throws(FileProviderError) -> ChangePage {
        try await call(.enumerateChanges, twice: Self.twice) { [base] () async throws(FileProviderError) in
            try await base.enumerateChanges(from: anchor)
        }
    }

    private static func twice(_ page: ChangePage) -> ChangePage {
        ChangePage(
            updated: page.updated + page.updated, deleted: page.deleted + page.deleted, anchor: page.anchor,
            hasMore: page.hasMore)
    }
}

extension FaultInjectingProvider: ServerSideCopying where Base: ServerSideCopying {
    public func copyItem(
        _ identifier: ItemIdentifier, version: ContentVersion, as template: ItemTemplate
    ) async throws(FileProviderError) -> Item {
        try await call(.copyItem) { [base] () async throws(FileProviderError) in
            try await base.copyItem(identifier, version: version, as: template)
        }
    }
}

extension FaultInjectingProvider: Trashing where Base: Trashing {
    public var hasTrash: Bool { base.hasTrash }

    public func trashItem(
        _ identifier: ItemIdentifier, baseVersion: ItemVersion
    ) async throws(FileProviderError) {
        try await call(.trashItem) { [base] () async throws(FileProviderError) in
            try await base.trashItem(identifier, baseVersion: baseVersion)
        }
    }
}

extension FaultInjectingProvider: TrashRestoring where Base: TrashRestoring {
    public func trashedItems() async throws(FileProviderError) -> [TrashEntry] {
        try await call(.trashedItems) { [base] () async throws(FileProviderError) in try await base.trashedItems() }
    }

    public func restoreTrashedItem(_ trashed: String) async throws(FileProviderError) -> [Filename]? {
        try await call(.restoreTrashedItem) { [base] () async throws(FileProviderError) in
            try await base.restoreTrashedItem(trashed)
        }
    }
}

extension FaultInjectingProvider: LinkSharing where Base: LinkSharing {
    public func shareLink(
        to identifier: ItemIdentifier, terms: LinkTerms
    ) async throws(FileProviderError) -> SharedLink {
        try await call(.shareLink) { [base] () async throws(FileProviderError) in
            try await base.shareLink(to: identifier, terms: terms)
        }
    }

    public func sharedLinks(to identifier: ItemIdentifier) async throws(FileProviderError) -> [SharedLink] {
        try await call(.sharedLinks) { [base] () async throws(FileProviderError) in
            try await base.sharedLinks(to: identifier)
        }
    }

    public func endSharedLink(_ link: String, to identifier: ItemIdentifier) async throws(FileProviderError) {
        try await call(.endSharedLink) { [base] () async throws(FileProviderError) in
            try await base.endSharedLink(link, to: identifier)
        }
    }
}

extension FaultInjectingProvider: FavoriteKeeping where Base: FavoriteKeeping {
    public var keepsFavorites: Bool { base.keepsFavorites }

    public func setFavorite(
        _ isFavorite: Bool, of identifier: ItemIdentifier
    ) async throws(FileProviderError) -> Item {
        try await call(.setFavorite) { [base] () async throws(FileProviderError) in
            try await base.setFavorite(isFavorite, of: identifier)
        }
    }
}

extension FaultInjectingProvider: ThumbnailProviding where Base: ThumbnailProviding {
    public func thumbnail(
        of identifier: ItemIdentifier, version: ContentVersion, size: Int
    ) async throws(FileProviderError) -> Thumbnail? {
        try await call(.thumbnail) { [base] () async throws(FileProviderError) in
            try await base.thumbnail(of: identifier, version: version, size: size)
        }
    }
}

extension FaultInjectingProvider: ThumbnailKeeping where Base: ThumbnailKeeping {
    public var keepsThumbnails: Bool { base.keepsThumbnails }

    public func keepThumbnail(
        _ thumbnail: Thumbnail, of identifier: ItemIdentifier, version: ContentVersion
    ) async throws(FileProviderError) {
        try await call(.keepThumbnail) { [base] () async throws(FileProviderError) in
            try await base.keepThumbnail(thumbnail, of: identifier, version: version)
        }
    }
}

extension FaultInjectingProvider: VersionKeeping where Base: VersionKeeping {
    public var keepsVersions: Bool { base.keepsVersions }

    public func versions(
        of identifier: ItemIdentifier, limit: Int
    ) async throws(FileProviderError) -> [DocumentVersion] {
        try await call(.versions) { [base] () async throws(FileProviderError) in
            try await base.versions(of: identifier, limit: limit)
        }
    }

    public func startProvidingVersion(
        _ version: DocumentVersion, of identifier: ItemIdentifier, into sink: any ContentSink
    ) async throws(FileProviderError) {
        try await call(.startProvidingVersion) { [base] () async throws(FileProviderError) in
            try await base.startProvidingVersion(version, of: identifier, into: sink)
        }
    }
}

extension FaultInjectingProvider: QuotaReporting where Base: QuotaReporting {
    public func quota() async throws(FileProviderError) -> StoreQuota {
        try await call(.quota) { [base] () async throws(FileProviderError) in try await base.quota() }
    }
}

extension FaultInjectingProvider: SearchingProvider where Base: SearchingProvider {
    public var canSearch: Bool { base.canSearch }

    public func search(_ search: StoreSearch) async throws(FileProviderError) -> StoreFindings {
        try await call(.search) { [base] () async throws(FileProviderError) in try await base.search(search) }
    }
}
