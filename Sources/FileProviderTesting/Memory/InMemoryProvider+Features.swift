public import FileProvider

// The optional features, as far as ``features`` has them.
extension InMemoryProvider: ChangeEnumerating {
    /// The moment of the newest change by any client.
    public func currentSyncAnchor() async throws(FileProviderError) -> SyncAnchor {
        note(HookCall(.currentSyncAnchor, .rootContainer))
        try require(.changes)
        return try withStore { store throws(FileProviderError) in store.anchor }
    }

    /// At most ``pageSize`` items at once. ``forgetChanges()`` expires older anchors.
    public func enumerateChanges(from anchor: SyncAnchor) async throws(FileProviderError) -> ChangePage {
        note(HookCall(.enumerateChanges, .rootContainer, anchor: anchor))
        try require(.changes)
        return try withStore { store throws(FileProviderError) in
            try store.changes(from: anchor, count: pageSize)
        }
    }
}

extension InMemoryProvider: ServerSideCopying {
    public func copyItem(
        _ identifier: ItemIdentifier, version: ContentVersion, as template: ItemTemplate
    ) async throws(FileProviderError) -> Item {
        note(
            HookCall(
                .copyItem, identifier, filename: template.filename, folder: template.parentIdentifier,
                contentVersion: version))
        try require(.copying)
        try requireWritable()
        let item = try withStore { store throws(FileProviderError) in
            try store.copy(identifier, version: version, as: template)
        }
        signalOwn([.folder(item.parentIdentifier)])
        return item
    }
}

extension InMemoryProvider: Trashing {
    /// As ``features`` says.
    public var hasTrash: Bool { features.contains(.trash) }

    /// A trashed item is out of the tree, and its identifier is unknown; see ``trashContents``.
    public func trashItem(
        _ identifier: ItemIdentifier, baseVersion: ItemVersion
    ) async throws(FileProviderError) {
        note(HookCall(.trashItem, identifier, baseVersion: baseVersion))
        try require(.trash)
        try requireWritable()
        let parent = try withStore { store throws(FileProviderError) in
            let node = try store.node(identifier)
            try store.delete(identifier, base: baseVersion)
            store.trash.append(node)
            return node.item.parentIdentifier
        }
        signalOwn([.folder(parent)])
    }
}

extension InMemoryProvider: ThumbnailProviding {
    /// The picture that a test gave the document with ``setThumbnail(_:at:)``, whatever its size; otherwise a small PNG
    /// or JPEG is its own thumbnail, and other documents have none.
    public func thumbnail(
        of identifier: ItemIdentifier, version: ContentVersion, size: Int
    ) async throws(FileProviderError) -> Thumbnail? {
        note(HookCall(.thumbnail, identifier, contentVersion: version))
        try require(.thumbnails)
        let node = try withStore { store throws(FileProviderError) in try store.document(identifier, at: version) }
        if let given = node.thumbnail { return Thumbnail(bytes: given) }
        guard let picture = PictureSize(of: node.bytes), max(picture.width, picture.height) <= size else { return nil }
        return Thumbnail(bytes: node.bytes)
    }
}

extension InMemoryProvider: ThumbnailKeeping {
    /// As ``features`` says.
    public var keepsThumbnails: Bool { features.contains(.keepingThumbnails) }

    /// Keeps the picture until the contents change.
    public func keepThumbnail(
        _ thumbnail: Thumbnail, of identifier: ItemIdentifier, version: ContentVersion
    ) async throws(FileProviderError) {
        note(HookCall(.keepThumbnail, identifier, contentVersion: version))
        try require(.keepingThumbnails)
        try requireWritable()
        try withStore { store throws(FileProviderError) in
            try store.keepThumbnail(thumbnail.bytes, of: identifier, version)
        }
    }
}

extension InMemoryProvider: VersionKeeping {
    /// As ``features`` says.
    public var keepsVersions: Bool { features.contains(.versions) }

    /// The last versions that others have replaced, at most 100.
    public func versions(
        of identifier: ItemIdentifier, limit: Int
    ) async throws(FileProviderError) -> [DocumentVersion] {
        note(HookCall(.versions, identifier))
        try require(.versions)
        let node = try withStore { store throws(FileProviderError) in try store.document(identifier) }
        return node.past.reversed().prefix(limit).map(\.version)
    }

    public func startProvidingVersion(
        _ version: DocumentVersion, of identifier: ItemIdentifier, into sink: any ContentSink
    ) async throws(FileProviderError) {
        note(HookCall(.startProvidingVersion, identifier))
        try require(.versions)
        let node = try withStore { store throws(FileProviderError) in try store.document(identifier) }
        guard let past = node.past.first(where: { $0.version.identifier == version.identifier }) else {
            throw FileProviderError(.noSuchItem, "\(identifier): the store has no version “\(version.identifier)”")
        }
        var offset = 0
        while offset < past.bytes.count {
            let end = min(offset + pieceSize, past.bytes.count)
            try await sink.write(Array(past.bytes[offset..<end]), at: Int64(offset))
            offset = end
        }
    }
}

extension InMemoryProvider: QuotaReporting {
    /// The bytes of all documents, and the ``capacity``.
    public func quota() async throws(FileProviderError) -> StoreQuota {
        note(HookCall(.quota, .rootContainer))
        try require(.quota)
        return try withStore { store throws(FileProviderError) in
            StoreQuota(used: store.used, total: store.capacity)
        }
    }
}

extension InMemoryProvider: SearchingProvider {
    /// As ``features`` says.
    public var canSearch: Bool { features.contains(.searching) }

    /// Findings come in the order in which the items were made.
    public func search(_ search: StoreSearch) async throws(FileProviderError) -> StoreFindings {
        note(HookCall(.search, .rootContainer))
        try require(.searching)
        return try withStore { store throws(FileProviderError) in store.search(search) }
    }
}

extension InMemoryProvider {
    func require(_ ability: Features) throws(FileProviderError) {
        guard features.contains(ability) else {
            throw FileProviderError(.unsupported, "the store cannot do this")
        }
    }
}
