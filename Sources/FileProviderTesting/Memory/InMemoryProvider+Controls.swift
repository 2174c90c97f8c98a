public import FileProvider

/// An item in the trash of an ``InMemoryProvider``.
public struct TrashedItem: Hashable, Sendable {
    /// The item as it was.
    public let item: Item
    /// Its contents.
    public let entry: StoredEntry

    /// An item with its contents.
    public init(item: Item, entry: StoredEntry) {
        self.item = item
        self.entry = entry
    }
}

// Controls for tests, besides the other client.
extension InMemoryProvider {
    /// The most bytes that all documents together may have; nil: no limit. A change through the protocol that needs
    /// more is refused with `FileProviderError.Code.insufficientQuota`.
    public var capacity: Int64? {
        get { (try? withStore { store throws(FileProviderError) in store.capacity }) ?? nil }
        set { try? withStore { store throws(FileProviderError) in store.capacity = newValue } }
    }

    /// Sets the operations that the protocol allows on an item; others are refused with
    /// `FileProviderError.Code.permissionDenied`. Signalled.
    @discardableResult
    public func setCapabilities(
        _ capabilities: ItemCapabilities, at path: String
    ) throws(FileProviderError) -> Item {
        let item = try withStore { store throws(FileProviderError) in
            guard let item = Self.find(Self.names(path)[...], store) else { throw Self.missing(path) }
            return try store.setCapabilities(of: item.identifier, to: capabilities)
        }
        signalHub.send([.item(item.identifier)])
        return item
    }

    /// Gives a document this picture, until its contents change; nil removes it.
    public func setThumbnail(_ bytes: [UInt8]?, at path: String) throws(FileProviderError) {
        try withStore { store throws(FileProviderError) in
            guard let item = Self.find(Self.names(path)[...], store) else { throw Self.missing(path) }
            try store.setThumbnail(of: item.identifier, to: bytes)
        }
    }

    /// The picture that a test or the protocol gave a document; nil: none.
    public func givenThumbnail(at path: String) throws(FileProviderError) -> [UInt8]? {
        try withStore { store throws(FileProviderError) in
            guard let item = Self.find(Self.names(path)[...], store) else { throw Self.missing(path) }
            return try store.document(item.identifier).thumbnail
        }
    }

    /// The items in the trash, in the order of their arrival.
    public var trashContents: [TrashedItem] {
        let found = try? withStore { store throws(FileProviderError) in
            store.trash.map { TrashedItem(item: $0.item, entry: Self.entry($0)) }
        }
        return found ?? []
    }

    /// Destroys the items in the trash.
    public func emptyTrash() {
        try? withStore { store throws(FileProviderError) in store.trash = [] }
    }

    /// Expires all anchors given so far: the store forgets its changes up to now.
    public func forgetChanges() {
        try? withStore { store throws(FileProviderError) in store.forgetChanges() }
    }
}
