/// What the daemon says before its answer.
public enum ControlNews: Codable, Sendable, Equatable {
    case events([EventRecord])
    case progress(TransferProgress)
    case granted(CoordinationGrant)
    case presenter(PresenterMessage)
    case access(ScopedAccess)
    case query(QueryNews)
}

/// How far a request is, of which nobody knows how long it takes.
public struct TransferProgress: Codable, Sendable, Equatable {
    /// Documents, or changes, that are finished.
    public var done: Int
    /// Of so many.
    public var total: Int
    /// Bytes that have come, or gone; those that were there before do not count.
    public var bytes: Int64
    /// Of so many; 0: not known, or none are to be moved.
    public var bytesTotal: Int64
    /// What is under way for it.
    public var running: [RunningTransfer]

    public init(done: Int, total: Int, bytes: Int64 = 0, bytesTotal: Int64 = 0, running: [RunningTransfer] = []) {
        self.done = done
        self.total = total
        self.bytes = bytes
        self.bytesTotal = bytesTotal
        self.running = running
    }
}

/// One document whose bytes are on their way.
public struct RunningTransfer: Codable, Sendable, Equatable {
    public enum Direction: String, Codable, Sendable { case download, upload }

    public var direction: Direction
    /// Absolute, for people: invalid UTF-8 is shown as U+FFFD.
    public var path: String
    /// How many have been moved.
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

/// What a user has set for a mounted domain.
public struct DomainSettings: Codable, Sendable, Equatable {
    public var isPaused: Bool
    /// In bytes a second, for all downloads together; nil: no limit.
    public var downloadLimit: Int64?
    public var uploadLimit: Int64?
    /// Above how many percent of a domain the store's deletions are held; 100: never. Older daemons do not say.
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
