package import FileProvider
import Synchronization

// The optional protocols: which of them count, the program says at its start (`AbilityReporting`).

extension ProcessProvider: AbilityReporting, Invalidatable {
    package func invalidate() async { await end() }
}

extension ProcessProvider: ChangeSignaling, ChangeEnumerating, FolderVersioning {
    package func changeSignals() -> AsyncStream<ChangeSignal> { reception.signals() }

    package func currentSyncAnchor() async throws(FileProviderError) -> SyncAnchor {
        let answer: Message.Anchor = try await call(.currentSyncAnchor, Message.Nothing())
        return answer.value
    }

    package func enumerateChanges(from anchor: SyncAnchor) async throws(FileProviderError) -> ChangePage {
        let answer: Message.Changes = try await call(.enumerateChanges, Message.Anchor(anchor))
        return try answer.value()
    }

    package func folderVersion(of folder: ItemIdentifier) async throws(FileProviderError) -> String? {
        let answer: Message.FolderVersion = try await call(.folderVersion, Message.Folder(folder: folder))
        return answer.version
    }
}

extension ProcessProvider: MetadataUpdating, ServerSideCopying, Trashing {
    package func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await item(
            .updateMetadata,
            Message.UpdateMetadata(
                identifier: identifier, metadata: WireMetadata(metadata), baseVersion: WireVersion(baseVersion)))
    }

    package func copyItem(
        _ identifier: ItemIdentifier, version: ContentVersion, as template: ItemTemplate
    ) async throws(FileProviderError) -> Item {
        try await item(
            .copyItem,
            Message.Copy(
                identifier: identifier, version: ByteString(version.bytes), template: WireTemplate(template)))
    }

    package func trashItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(FileProviderError) {
        try await nothing(
            .trashItem, Message.Delete(identifier: identifier, baseVersion: WireVersion(baseVersion)))
    }
}

extension ProcessProvider: ThumbnailKeeping {
    package func thumbnail(
        of identifier: ItemIdentifier, version: ContentVersion, size: Int
    ) async throws(FileProviderError) -> Thumbnail? {
        let picture = Picture()
        let answer: Message.ThumbnailAnswer = try await call(
            .thumbnail, Message.Thumbnail(identifier: identifier, version: ByteString(version.bytes), size: size),
            into: picture)
        return answer.hasThumbnail ? Thumbnail(bytes: picture.bytes) : nil
    }

    package func keepThumbnail(
        _ thumbnail: Thumbnail, of identifier: ItemIdentifier, version: ContentVersion
    ) async throws(FileProviderError) {
        let contents = Picture(thumbnail.bytes)
        try await nothing(
            .keepThumbnail,
            Message.KeepThumbnail(
                identifier: identifier, version: ByteString(version.bytes),
                contents: Message.Contents(size: contents.size)),
            contents: contents)
    }
}

extension ProcessProvider: VersionKeeping {
    package func versions(
        of identifier: ItemIdentifier, limit: Int
    ) async throws(FileProviderError) -> [DocumentVersion] {
        let answer: Message.VersionList = try await call(
            .versions, Message.Versions(identifier: identifier, limit: limit))
        return answer.value
    }

    package func startProvidingVersion(
        _ version: DocumentVersion, of identifier: ItemIdentifier, into sink: any ContentSink
    ) async throws(FileProviderError) {
        try await nothing(
            .startProvidingVersion,
            Message.ProvideVersion(identifier: identifier, version: WireDocumentVersion(version)), into: sink)
    }
}

extension ProcessProvider: QuotaReporting, SearchingProvider {
    package func quota() async throws(FileProviderError) -> StoreQuota {
        let answer: Message.Quota = try await call(.quota, Message.Nothing())
        return answer.value
    }

    package func search(_ search: StoreSearch) async throws(FileProviderError) -> StoreFindings {
        let answer: Message.Findings = try await call(.search, Message.Search(search))
        return answer.value
    }
}

extension ProcessProvider: TrashRestoring, LinkSharing, FavoriteKeeping {
    package func trashedItems() async throws(FileProviderError) -> [TrashEntry] {
        let answer: Message.Trash = try await call(.trashedItems, Message.Nothing())
        return answer.value
    }

    package func restoreTrashedItem(_ trashed: String) async throws(FileProviderError) -> [Filename]? {
        let answer: Message.RestoredPlace = try await call(.restoreTrashedItem, Message.Restore(trashed: trashed))
        return answer.value
    }

    package func shareLink(
        to identifier: ItemIdentifier, terms: LinkTerms
    ) async throws(FileProviderError) -> SharedLink {
        let answer: Message.LinkAnswer = try await call(
            .shareLink, Message.ShareLink(identifier: identifier, terms: terms))
        return answer.value
    }

    package func sharedLinks(to identifier: ItemIdentifier) async throws(FileProviderError) -> [SharedLink] {
        let answer: Message.Links = try await call(.sharedLinks, Message.Identified(identifier: identifier))
        return answer.value
    }

    package func endSharedLink(_ link: String, to identifier: ItemIdentifier) async throws(FileProviderError) {
        try await nothing(.endSharedLink, Message.EndLink(identifier: identifier, link: link))
    }

    package func setFavorite(
        _ isFavorite: Bool, of identifier: ItemIdentifier
    ) async throws(FileProviderError) -> Item {
        try await item(.setFavorite, Message.SetFavorite(identifier: identifier, isFavorite: isFavorite))
    }
}

extension ProcessProvider: ParallelUploading {
    // 0: the program does not say.
    package var uploadsAtOnce: Int { max(0, min(said.uploadsAtOnce ?? 0, 256)) }
}

extension ProcessProvider: SigningIn {
    package func credentialMayHaveChanged() { notify(.credentialMayHaveChanged) }

    package func signOut() async { try? await nothing(.signOut, Message.Nothing()) }
}

/// The file of a picture, in memory; in order.
private final class Picture: ContentSink, ContentSource {
    private let held: Mutex<[UInt8]>
    var bytes: [UInt8] { held.withLock { $0 } }
    var size: Int64 { Int64(bytes.count) }

    init(_ bytes: [UInt8] = []) { held = Mutex(bytes) }

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        try held.withLock { (held) throws(FileProviderError) in
            guard offset == Int64(held.count), held.count + bytes.count <= Thumbnail.mostBytes else {
                throw FileProviderError(
                    .cannotSynchronize,
                    "the provider's thumbnail is out of order, or larger than \(Thumbnail.mostBytes)")
            }
            held += bytes
        }
    }

    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        let bytes = bytes
        guard offset >= 0, offset < Int64(bytes.count) else { return [] }
        return Array(bytes[Int(offset)...].prefix(count))
    }
}
