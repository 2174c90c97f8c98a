/// What a store is asked to find: documents, folders and links for which every condition that is given holds.
public struct StoreSearch: Hashable, Sendable {
    /// Parts that a name has, each of them somewhere, without regard to case (of ASCII letters at least). Every character
    /// stands for itself.
    public var nameParts: [String]
    /// What a name ends with, behind a dot, without regard to case: one of these. Empty: whatever it is.
    public var filenameExtensions: [String]
    /// Of a document, in bytes. nil: whatever it is, and also folders and links.
    public var size: ClosedRange<Int64>?
    /// When the contents were last changed, in whole seconds since 1970, rounded down. nil: whenever it was.
    public var modified: ClosedRange<Int64>?
    /// How many findings are wanted at most; at least 1.
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

    /// Whether anything is asked for at all.
    public var hasConditions: Bool {
        !nameParts.isEmpty || !filenameExtensions.isEmpty || size != nil || modified != nil
    }
}

/// Something that a store has found by itself.
public struct StoreFinding: Hashable, Sendable {
    /// The names that lead to it from the topmost folder, its own name last.
    public var path: [Filename]
    /// What it is.
    public var kind: ItemKind
    /// In bytes; of folders 0.
    public var size: Int64
    /// The last change of its contents.
    public var contentModificationDate: FileTime
    /// As listings name it; nil: the search does not say.
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

/// What a store has found.
public struct StoreFindings: Hashable, Sendable {
    /// At most as many as were wanted.
    public var findings: [StoreFinding]
    /// There are no more than these.
    public var isComplete: Bool

    /// The answer to a search.
    public init(_ findings: [StoreFinding], isComplete: Bool) {
        self.findings = findings
        self.isComplete = isComplete
    }
}

/// A provider whose store can search by itself: queries find what is in folders that nobody has looked into yet.
///
/// The system compares what is found with the whole query again, so a store may find too much: too little stays unfound.
///
/// Source: RFC 5323 (WebDAV SEARCH).
public protocol SearchingProvider: FileProviderExtension {
    /// Whether this store searches after all. Must answer at once, from what is known. Default: true.
    var canSearch: Bool { get }

    /// Finds items anywhere in the store. Cancelled when nobody waits for the answer any longer.
    ///
    /// - Throws: ``FileProviderError/Code/unsupported`` when it cannot search for such a thing, or not at all.
    func search(_ search: StoreSearch) async throws(FileProviderError) -> StoreFindings
}

extension SearchingProvider {
    /// It does.
    public var canSearch: Bool { true }
}
