/// A change made here that the provider has not confirmed yet.
public struct PendingChange: Codable, Sendable, Equatable {
    /// Absolute, for people: invalid UTF-8 is shown as U+FFFD.
    public var path: String
    /// `upload`, `create`, `move`, `delete` or `metadata`.
    public var what: String
    /// Why the last try failed, for people; nil: there was none, or a try is running.
    public var error: String?
    /// When the next try is, in seconds since 1970; nil: a try is running, or the change is next in the queue.
    public var nextTry: Double?
    /// What to do about a change that the store refuses for good, for people. Nil: Hydrant tries again.
    public var remedy: String?

    public init(
        path: String, what: String, error: String? = nil, nextTry: Double? = nil, remedy: String? = nil
    ) {
        self.path = path
        self.what = what
        self.error = error
        self.nextTry = nextTry
        self.remedy = remedy
    }
}

extension PendingChange {
    private enum CodingKeys: String, CodingKey { case path, what, error, nextTry, remedy }

    // By hand, to keep the keys of nil values, so that scripts need not check for them.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(path, forKey: .path)
        try container.encode(what, forKey: .what)
        try container.encode(error, forKey: .error)
        try container.encode(nextTry, forKey: .nextTry)
        try container.encode(remedy, forKey: .remedy)
    }
}

/// A domain's use of this machine's disk, in bytes.
public struct DiskUse: Codable, Sendable, Equatable {
    /// Bytes of documents that are here.
    public var here: Int64
    /// The size above which the least recently used documents are evicted; nil: none.
    public var limit: Int64?
    /// Bytes free on the disk.
    public var free: Int64
    /// The free space below which documents are evicted too.
    public var minimumFree: Int64
    /// Bytes that are pinned and not here yet.
    public var pinnedToCome: Int64

    public init(here: Int64, limit: Int64? = nil, free: Int64, minimumFree: Int64, pinnedToCome: Int64 = 0) {
        self.here = here
        self.limit = limit
        self.free = free
        self.minimumFree = minimumFree
        self.pinnedToCome = pinnedToCome
    }
}

/// Bytes downloaded ahead, before a program asked for them, since the mount.
public struct ReadAheadUse: Codable, Sendable, Equatable {
    public var downloaded: Int64
    /// The part in documents that no program has opened so far.
    public var unused: Int64

    public init(downloaded: Int64, unused: Int64) {
        self.downloaded = downloaded
        self.unused = unused
    }
}

/// The way that the kernel's requests come to the daemon.
public struct RequestTransport: Codable, Sendable, Equatable {
    public enum Name: String, Codable, Sendable {
        case ring = "io_uring"
        case device
    }
    public var name: Name
    /// Why it is not the faster one, and what to do about it; nil: it is, or nobody knows.
    public var reason: String?

    public init(name: Name, reason: String? = nil) {
        self.name = name
        self.reason = reason
    }
}

/// The store's use, in bytes, as the store reported it last.
public struct StoreUse: Codable, Sendable, Equatable {
    public var used: Int64
    /// Nil: no limit is known.
    public var total: Int64?

    public init(used: Int64, total: Int64? = nil) {
        self.used = used
        self.total = total
    }
}

extension DiskUse {
    private enum CodingKeys: String, CodingKey { case here, limit, free, minimumFree, pinnedToCome }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(here, forKey: .here)
        try container.encode(limit, forKey: .limit)
        try container.encode(free, forKey: .free)
        try container.encode(minimumFree, forKey: .minimumFree)
        try container.encode(pinnedToCome, forKey: .pinnedToCome)
    }
}

/// A mounted domain as a whole.
public struct DomainStatus: Codable, Sendable, Equatable {
    /// The domain's name.
    public var domain: String
    /// The store's location, such as `dir:/STORE`.
    public var provider: String
    /// Absolute.
    public var mountPoint: String
    /// The daemon's process id.
    public var pid: Int32
    /// Changes that the provider has not confirmed yet.
    public var pending: [PendingChange]
    /// Whether the kernel reads and writes downloaded documents without the daemon.
    public var passthrough: Bool
    /// Nil from older daemons.
    public var transport: RequestTransport?
    /// The absolute path of the state directory. Nil from older daemons.
    public var stateDirectory: String?
    public var disk: DiskUse
    /// Nil: the provider does not report it.
    public var store: StoreUse?
    /// The transfers that run now. Nil from older daemons.
    public var transfers: [RunningTransfer]?
    public var settings: DomainSettings?
    /// The number of unresolved conflicts. Nil from older daemons.
    public var conflicts: Int?
    /// The store's deletions that wait for a person; nil: none.
    public var heldDeletions: HeldDeletionsStatus?
    /// Whether the store answers. Nil from older daemons.
    public var connection: ConnectionStatus?
    /// The provider's identifier, which is the coordination purpose of programs that write for it. Nil from older
    /// daemons.
    public var providerIdentifier: String?
    /// Nil from older daemons.
    public var isReadOnly: Bool?
    /// Nil from older daemons.
    public var readAhead: ReadAheadUse?
    /// The domain's name for people: the given one, otherwise that of the mount point. Nil from older daemons.
    public var title: String?
    /// Whether the store has an account to sign in to. Nil from older daemons.
    public var signsIn: Bool?

    public init(
        domain: String, provider: String, mountPoint: String, pid: Int32, pending: [PendingChange] = [],
        passthrough: Bool, stateDirectory: String? = nil, disk: DiskUse,
        transfers: [RunningTransfer]? = nil, settings: DomainSettings? = nil, conflicts: Int? = nil,
        store: StoreUse? = nil, heldDeletions: HeldDeletionsStatus? = nil, connection: ConnectionStatus? = nil,
        providerIdentifier: String? = nil, isReadOnly: Bool? = nil, readAhead: ReadAheadUse? = nil,
        title: String? = nil, signsIn: Bool? = nil, transport: RequestTransport? = nil
    ) {
        self.transport = transport
        self.title = title
        self.signsIn = signsIn
        self.readAhead = readAhead
        self.providerIdentifier = providerIdentifier
        self.isReadOnly = isReadOnly
        self.domain = domain
        self.provider = provider
        self.mountPoint = mountPoint
        self.pid = pid
        self.pending = pending
        self.passthrough = passthrough
        self.stateDirectory = stateDirectory
        self.disk = disk
        self.store = store
        self.transfers = transfers
        self.settings = settings
        self.conflicts = conflicts
        self.heldDeletions = heldDeletions
        self.connection = connection
    }
}

/// Whether a store answers.
public struct ConnectionStatus: Codable, Sendable, Equatable {
    public var isOnline: Bool
    /// When the connection got into this state, in seconds since 1970; nil: the daemon has not asked the store yet.
    public var since: Double?
    /// Why the store does not answer, for people.
    public var reason: String?
    /// The store asks for another password. Nil from older daemons.
    public var needsSignIn: Bool?

    public init(isOnline: Bool, since: Double? = nil, reason: String? = nil, needsSignIn: Bool? = nil) {
        self.needsSignIn = needsSignIn
        self.isOnline = isOnline
        self.since = since
        self.reason = reason
    }
}
