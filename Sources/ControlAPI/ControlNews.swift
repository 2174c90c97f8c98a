/// The daemon's messages before its answer.
public enum ControlNews: Codable, Sendable, Equatable {
    case events([EventRecord])
    case progress(TransferProgress)
    case granted(CoordinationGrant)
    case presenter(PresenterMessage)
    case access(ScopedAccess)
    case query(QueryNews)
}

/// The progress of a long request.
public struct TransferProgress: Codable, Sendable, Equatable {
    /// Documents, or changes, that are finished.
    public var done: Int
    /// How many there are in all.
    public var total: Int
    /// Bytes transferred for this request.
    public var bytes: Int64
    /// Bytes to transfer; 0: unknown, or none.
    public var bytesTotal: Int64
    /// The transfers that run for the request.
    public var running: [RunningTransfer]

    public init(done: Int, total: Int, bytes: Int64 = 0, bytesTotal: Int64 = 0, running: [RunningTransfer] = []) {
        self.done = done
        self.total = total
        self.bytes = bytes
        self.bytesTotal = bytesTotal
        self.running = running
    }
}

/// A document's transfer that runs now.
public struct RunningTransfer: Codable, Sendable, Equatable {
    public enum Direction: String, Codable, Sendable { case download, upload }

    public var direction: Direction
    /// Absolute, for people: invalid UTF-8 is shown as U+FFFD.
    public var path: String
    /// Bytes transferred so far.
    public var bytes: Int64
    public var total: Int64
    /// In seconds since 1970.
    public var started: Double

    public init(direction: Direction, path: String, bytes: Int64, total: Int64, started: Double) {
        self.direction = direction
        self.path = path
        self.bytes = bytes
        self.total = total
        self.started = started
    }
}

/// The user's settings of a mounted domain.
public struct DomainSettings: Codable, Sendable, Equatable {
    public var isPaused: Bool
    /// The limit of all downloads together, in bytes a second; nil: none.
    public var downloadLimit: Int64?
    public var uploadLimit: Int64?
    /// The percentage of the domain above which the store's deletions are held; 100: never. Nil from older daemons.
    public var holdDeletions: Double?

    public init(
        isPaused: Bool = false, downloadLimit: Int64? = nil, uploadLimit: Int64? = nil, holdDeletions: Double? = nil
    ) {
        self.isPaused = isPaused
        self.holdDeletions = holdDeletions
        self.downloadLimit = downloadLimit
        self.uploadLimit = uploadLimit
    }

    private enum CodingKeys: String, CodingKey {
        case isPaused = "paused"
        case downloadLimit, uploadLimit, holdDeletions
    }

    // By hand, as everywhere where scripts read it: the keys of nil values stay.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(isPaused, forKey: .isPaused)
        try container.encode(downloadLimit, forKey: .downloadLimit)
        try container.encode(uploadLimit, forKey: .uploadLimit)
        try container.encode(holdDeletions, forKey: .holdDeletions)
    }
}
