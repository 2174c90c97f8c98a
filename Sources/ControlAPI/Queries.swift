public import QueryLanguage

/// A program's search in a domain. It downloads nothing.
public struct QueryRequest: Codable, Sendable, Equatable {
    /// A UUID.
    public var id: String
    public var predicate: QueryPredicate
    /// Folders to search, and documents to check; relative to the mount point. Empty: the whole domain.
    public var scopes: [PathBytes]
    /// Whether to report changes; otherwise the answer comes when all is found.
    public var isLive: Bool
    /// Seconds for which changes are gathered before they are reported.
    public var interval: Double
    /// Whether results have their tags, which cost a look-up each.
    public var wantsTags: Bool
    /// Nil in requests of programs that do not know it.
    private var shallow: Bool?
    /// Whether only the items directly in ``scopes`` are searched.
    public var isShallow: Bool {
        get { shallow ?? false }
        set { shallow = newValue ? true : nil }
    }

    public init(
        id: String, predicate: QueryPredicate, scopes: [PathBytes] = [], isLive: Bool = false, interval: Double = 1,
        wantsTags: Bool = false, isShallow: Bool = false
    ) {
        self.id = id
        self.predicate = predicate
        self.scopes = scopes
        self.isLive = isLive
        self.interval = interval
        self.wantsTags = wantsTags
        self.isShallow = isShallow
    }

    /// In seconds.
    public static let intervals = 0.02...3_600.0
    public static let mostScopes = 1_000
}

/// One result of a query.
public struct QueryItem: Codable, Sendable, Equatable {
    /// Stays the same for as long as the name exists, also when it is renamed. Unique within the domain.
    public var number: Int64
    /// Relative to the mount point.
    public var path: PathBytes
    public var kind: ItemStatus.Kind
    /// A uniform type identifier.
    public var type: String
    /// In bytes.
    public var size: Int64
    /// Dates in seconds since 1970.
    public var modified: Double
    public var created: Double
    public var accessed: Double
    /// The user's name on this machine, or number.
    public var owner: String
    public var state: ItemState
    /// In bytes.
    public var bytesDownloaded: Int64
    /// Conditions besides ``state``: downloading, uploading, error, conflict, pinned, excluded.
    public var conditions: Set<QueryPredicate.ItemCondition>
    /// The provider's identifier; nil: the store does not know the item (yet).
    public var identifier: String?
    /// The last error, for people.
    public var error: String?
    /// Empty unless the query asked for tags.
    public var tags: [String]

    public init(
        number: Int64, path: PathBytes, kind: ItemStatus.Kind, type: String, size: Int64, modified: Double,
        created: Double, accessed: Double, owner: String, state: ItemState, bytesDownloaded: Int64,
        conditions: Set<QueryPredicate.ItemCondition>, identifier: String?, error: String?, tags: [String]
    ) {
        self.number = number
        self.path = path
        self.kind = kind
        self.type = type
        self.size = size
        self.modified = modified
        self.created = created
        self.accessed = accessed
        self.owner = owner
        self.state = state
        self.bytesDownloaded = bytesDownloaded
        self.conditions = conditions
        self.identifier = identifier
        self.error = error
        self.tags = tags
    }
}

/// A daemon's news of a query.
public struct QueryNews: Codable, Sendable, Equatable {
    public enum Phase: String, Codable, Sendable {
        /// Some of the results.
        case gathering
        /// The last of the results; changes follow.
        case gathered
        case changed
    }
    public var phase: Phase
    public var added: [QueryItem]
    public var changed: [QueryItem]
    /// The numbers of items that no longer match.
    public var removed: [Int64]
    /// With the last results: how many of the store's folders nobody has listed, and so were not searched.
    public var unlistedFolders: Int
    /// Seconds between news while results are gathered, even if nothing was found.
    public static let pulse = 2.0
    /// To be confirmed with ``ControlRequest/queryTaken(id:question:)``, for which somebody waits.
    public var question: Int?

    public init(
        _ phase: Phase, added: [QueryItem] = [], changed: [QueryItem] = [], removed: [Int64] = [],
        unlistedFolders: Int = 0, question: Int? = nil
    ) {
        self.phase = phase
        self.added = added
        self.changed = changed
        self.removed = removed
        self.unlistedFolders = unlistedFolders
        self.question = question
    }
}

/// The state of the index of documents' text.
public struct TextIndexStatus: Codable, Sendable, Equatable {
    public var isOn: Bool
    /// How many documents' text is in the index.
    public var documents: Int
    /// Whether documents are still to be read.
    public var isBusy: Bool

    public init(isOn: Bool, documents: Int, isBusy: Bool) {
        self.isOn = isOn
        self.documents = documents
        self.isBusy = isBusy
    }

    private enum CodingKeys: String, CodingKey {
        case isOn = "on"
        case documents
        case isBusy = "busy"
    }
}

/// One item's description, or the error.
public struct PromisedItem: Codable, Sendable, Equatable {
    public var item: QueryItem?
    /// PNG or JPEG; nil: not asked for, or none exists.
    public var thumbnail: DocumentThumbnail?
    /// For people; nil: there is an item.
    public var error: String?

    public init(item: QueryItem? = nil, thumbnail: DocumentThumbnail? = nil, error: String? = nil) {
        self.item = item
        self.thumbnail = thumbnail
        self.error = error
    }
}
