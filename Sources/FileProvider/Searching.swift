/// A search in a store: for documents, folders and links that meet every condition that is given.
public struct StoreSearch: Hashable, Sendable {
    /// Parts of the name, in any order, without regard to case (of ASCII letters at least). Every character stands for
    /// itself.
    public var nameParts: [String]
    /// The name has one of these extensions, without regard to case. Empty: any name.
    public var filenameExtensions: [String]
    /// The size of a document, in bytes. nil: any, and also folders and links.
    public var size: ClosedRange<Int64>?
    /// The last change of the contents, in whole seconds since 1970, rounded down. nil: any.
    public var modified: ClosedRange<Int64>?
    /// The most findings to return; at least 1.
    public var limit: Int

    /// A search with these conditions.
    public init(
        nameParts: [String] = [], filenameExtensions: [String] = [], size: ClosedRange<Int64>? = nil,
        modified: ClosedRange<Int64>? = nil, limit: Int = 1_000
    ) {
        self.nameParts = nameParts
        self.filenameExtensions = filenameExtensions
        self.size = size
        self.modified = modified
        self.limit = limit
    }

    /// Whether the search has any condition.
    public var hasConditions: Bool {
        !nameParts.isEmpty || !filenameExtensions.isEmpty || size != nil || modified != nil
    }
}

/// An item that a store's own search has found.
public struct StoreFinding: Hashable, Sendable {
    /// The names on the way to it from the topmost folder, its own name last.
    public var path: [Filename]
    /// The kind of the item.
    public var kind: ItemKind
    /// In bytes; 0 for a folder.
    public var size: Int64
    /// The last change of its contents.
    public var contentModificationDate: FileTime
    /// The identifier as in listings; nil: the search does not return it.
    public var identifier: ItemIdentifier?

    /// A finding as the store describes it.
    public init(
        path: [Filename], kind: ItemKind, size: Int64, contentModificationDate: FileTime,
        identifier: ItemIdentifier? = nil
    ) {
        self.path = path
        self.kind = kind
        self.size = size
        self.contentModificationDate = contentModificationDate
        self.identifier = identifier
    }
}

/// The answer of a store's own search.
public struct StoreFindings: Hashable, Sendable {
    /// At most ``StoreSearch/limit`` items.
    public var findings: [StoreFinding]
    /// Whether these are all.
    public var isComplete: Bool

    /// The answer to a search.
    public init(_ findings: [StoreFinding], isComplete: Bool) {
        self.findings = findings
        self.isComplete = isComplete
    }
}

/// A provider whose store can search by itself: queries then find items in folders that nobody has looked at yet.
///
/// Hydrant compares each finding with the whole query again: a store may return too much, but not too little.
///
/// Source: RFC 5323 (WebDAV SEARCH).
public protocol SearchingProvider: FileProviderExtension {
    /// Whether this store searches after all. Must answer at once, from what is known. Default: true.
    var canSearch: Bool { get }

    /// Finds items anywhere in the store. Cancelled when nobody waits for the answer any longer.
    ///
    /// - Throws: ``FileProviderError/Code/unsupported`` when the store cannot search for this, or not at all.
    func search(_ search: StoreSearch) async throws(FileProviderError) -> StoreFindings
}

extension SearchingProvider {
    /// The store searches.
    public var canSearch: Bool { true }
}
