public import FileProvider

// The hooks that change the store: they read contents first, then check and change everything in one step under the
// lock, so that an error leaves no trace.
extension InMemoryProvider {
    public func createItem(
        _ template: ItemTemplate, contents: (any ContentSource)?
    ) async throws(FileProviderError) -> Item {
        note(HookCall(.createItem, template.parentIdentifier, filename: template.filename))
        try requireWritable()
        let bytes = try await contents?.readAll(pieceSize: pieceSize) ?? []
        let item = try withStore { store throws(FileProviderError) in
            try store.create(template, bytes: bytes)
        }
        signalOwn([.folder(item.parentIdentifier)])
        return item
    }

    public func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata,
        baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        note(HookCall(.itemChanged, identifier, baseVersion: baseVersion))
        try requireWritable()
        let bytes = try await contents.readAll(pieceSize: pieceSize)
        let item = try withStore { store throws(FileProviderError) in
            try store.change(identifier, bytes: bytes, metadata: metadata, base: baseVersion)
        }
        signalOwn([.item(identifier)])
        return item
    }

    public func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename,
        baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        note(
            HookCall(.moveItem, identifier, filename: filename, folder: folder, baseVersion: baseVersion))
        try requireWritable()
        let (before, item) = try withStore { store throws(FileProviderError) in
            let before = try store.node(identifier).item.parentIdentifier
            return (before, try store.move(identifier, to: folder, as: filename, base: baseVersion))
        }
        signalOwn([.folder(before), .folder(folder)])
        return item
    }

    public func deleteItem(
        _ identifier: ItemIdentifier, baseVersion: ItemVersion
    ) async throws(FileProviderError) {
        note(HookCall(.deleteItem, identifier, baseVersion: baseVersion))
        try requireWritable()
        let parent = try withStore { store throws(FileProviderError) in
            let parent = try store.node(identifier).item.parentIdentifier
            try store.delete(identifier, base: baseVersion)
            return parent
        }
        signalOwn([.folder(parent)])
    }

    func signalOwn(_ signals: [ChangeSignal]) {
        if signalsOwnChanges { signalHub.send(signals) }
    }
}

extension InMemoryProvider: MetadataUpdating {
    /// Refused with `FileProviderError.Code.versionMismatch` when any metadata has changed since
    /// `baseVersion`. Permissions and extended attributes of nil stay as they are.
    public func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        note(HookCall(.updateMetadata, identifier, baseVersion: baseVersion))
        try requireWritable()
        let item = try withStore { store throws(FileProviderError) in
            try store.setMetadata(of: identifier, to: metadata, base: baseVersion)
        }
        signalOwn([.item(identifier)])
        return item
    }
}

extension InMemoryProvider: ChangeSignaling {
    public func changeSignals() -> AsyncStream<ChangeSignal> { signalHub.stream() }

    /// Sends a signal, whether or not an item changed.
    public func signal(_ signal: ChangeSignal) { signalHub.send([signal]) }

    /// The number of signal streams in use.
    public var signalListenerCount: Int { signalHub.listenerCount }
}
