public import QueryLanguage

/// What a program looks for in a domain. Nothing is downloaded for it.
public struct QueryRequest: Codable, Sendable, Equatable {
    /// A UUID.
    public var id: String
    public var predicate: QueryPredicate
    /// Folders in which to look, and documents to look at; relative to the mount point. Empty: the whole domain.
    public var scopes: [PathBytes]
    /// Whether to go on with what changes; else the answer comes when all was found.
    public var isLive: Bool
    /// In seconds: how long changes are gathered before they are told.
    public var interval: Double
    /// Whether results are to have their tags, which are looked up for each.
    public var wantsTags: Bool

    public init(
        id: String, predicate: QueryPredicate, scopes: [PathBytes] = [], isLive: Bool = false, interval: Double = 1,
        wantsTags: Bool = false
    ) {
        self.id = id
        self.predicate = predicate
        self.scopes = scopes
        self.isLive = isLive
        self.interval = interval
        self.wantsTags = wantsTags
    }

    /// In seconds.
    public static let intervals = 0.02...3_600.0
    public static let mostScopes = 1_000
}

/// One result of a query.
public struct QueryItem: Codable, Sendable, Equatable {
    /// The same for as long as the name is there, whatever it is changed to. Only within its domain.
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
    /// What holds of it besides ``state``: uploading, error, conflict, pinned, excluded.
    public var conditions: Set<QueryPredicate.ItemCondition>
    /// The provider's; nil: the store does not know it (yet).
    public var identifier: String?
    /// What went wrong last, for people.
    public var error: String?
    /// Empty unless they were asked for.
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

/// What a daemon says of a query.
public struct QueryNews: Codable, Sendable, Equatable {
    public enum Phase: String, Codable, Sendable {
        /// Some of what there is.
        case gathering
        /// That was all that there is; from now on, what changes.
        case gathered
        case changed
    }
    public var phase: Phase
    public var added: [QueryItem]
    public var changed: [QueryItem]
    /// Numbers.
    public var removed: [Int64]
    /// When all was gathered: how many of the store's folders nobody has looked into, so that what is in them was not found.
    public var unlistedFolders: Int
    /// In seconds: as often something is said while it gathers, even if nothing was found.
    public static let pulse = 2.0
    /// To be answered with ``ControlRequest/queryTaken(id:question:)``: somebody waits until this is known.
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

/// How the index of documents' texts is.
public struct TextIndexStatus: Codable, Sendable, Equatable {
    public var isOn: Bool
    /// Of how many documents it has a text.
    public var documents: Int
    /// Whether some are still to be read.
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

/// How one item is, or why that cannot be said.
public struct PromisedItem: Codable, Sendable, Equatable {
    public var item: QueryItem?
    /// PNG or JPEG; nil: not asked for, or there is none.
    public var thumbnail: DocumentThumbnail?
    /// For people; nil when there is an item.
    public var error: String?

    public init(item: QueryItem? = nil, thumbnail: DocumentThumbnail? = nil, error: String? = nil) {
        self.item = item
        self.thumbnail = thumbnail
        self.error = error
    }
}
