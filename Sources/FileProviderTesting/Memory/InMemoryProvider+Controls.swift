public import FileProvider

/// What somebody has put into the trash of an ``InMemoryProvider``.
public struct TrashedItem: Hashable, Sendable {
    /// As it was.
    public let item: Item
    /// What it held.
    public let entry: StoredEntry

    /// An item with what it held.
    public init(item: Item, entry: StoredEntry) {
        self.item = item
        self.entry = entry
    }
}

// What a test sets from outside, besides what the other client does.
extension InMemoryProvider {
    /// How many bytes all documents together may have; nil is no limit. A change through the protocol that needs more
    /// is refused with `FileProviderError.Code.insufficientQuota`.
    public var capacity: Int64? {
        get { (try? withStore { store throws(FileProviderError) in store.capacity }) ?? nil }
        set { try? withStore { store throws(FileProviderError) in store.capacity = newValue } }
    }

    /// Says what may be done with an item through the protocol; the rest is refused with
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

    /// Gives a document this picture, until its contents change; nil takes it away.
    public func setThumbnail(_ bytes: [UInt8]?, at path: String) throws(FileProviderError) {
        try withStore { store throws(FileProviderError) in
            guard let item = Self.find(Self.names(path)[...], store) else { throw Self.missing(path) }
            try store.setThumbnail(of: item.identifier, to: bytes)
        }
    }

    /// The picture that a document has been given, by a test or through the protocol; nil: none.
    public func givenThumbnail(at path: String) throws(FileProviderError) -> [UInt8]? {
        try withStore { store throws(FileProviderError) in
            guard let item = Self.find(Self.names(path)[...], store) else { throw Self.missing(path) }
            return try store.document(item.identifier).thumbnail
        }
    }

    /// What is in the trash, in the order in which it came there.
    public var trashContents: [TrashedItem] {
        let found = try? withStore { store throws(FileProviderError) in
            store.trash.map { TrashedItem(item: $0.item, entry: Self.entry($0)) }
        }
        return found ?? []
    }

    /// Destroys what is in the trash.
    public func emptyTrash() {
        try? withStore { store throws(FileProviderError) in store.trash = [] }
    }

    /// Lets every anchor expire that was given before now: the store does not remember what changed until here.
    public func forgetChanges() {
        try? withStore { store throws(FileProviderError) in store.forgetChanges() }
    }
}
