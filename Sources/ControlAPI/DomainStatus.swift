/// A change made here that the provider has not confirmed yet.
public struct PendingChange: Codable, Sendable, Equatable {
    /// Absolute, for people: invalid UTF-8 is shown as U+FFFD.
    public var path: String
    /// `upload`, `create`, `move`, `delete` or `metadata`.
    public var what: String
    /// Why the last try failed, for people; nil when there was none or it is running.
    public var error: String?
    /// When it is tried again, in seconds since 1970; nil when it is running or next in the queue.
    public var nextTry: Double?
    /// The store refuses it and will not take it by itself: what to do, for people. Nil: it is only tried again.
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

    // By hand: the synthesized one leaves out the keys of nil values, which scripts would have to ask for.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(path, forKey: .path)
        try container.encode(what, forKey: .what)
        try container.encode(error, forKey: .error)
        try container.encode(nextTry, forKey: .nextTry)
        try container.encode(remedy, forKey: .remedy)
    }
}

/// What a domain takes of this machine's disk, in bytes.
public struct DiskUse: Codable, Sendable, Equatable {
    /// How much of the documents is here.
    public var here: Int64
    /// Above this, what was used longest ago is evicted; nil: there is no such limit.
    public var limit: Int64?
    /// What is free on the disk.
    public var free: Int64
    /// Below this as well.
    public var minimumFree: Int64
    /// What is pinned and not here yet.
    public var pinnedToCome: Int64

    public init(here: Int64, limit: Int64? = nil, free: Int64, minimumFree: Int64, pinnedToCome: Int64 = 0) {
        self.here = here
        self.limit = limit
        self.free = free
        self.minimumFree = minimumFree
        self.pinnedToCome = pinnedToCome
    }
}

/// What came of documents before a program asked for them, in bytes, since the mount.
public struct ReadAheadUse: Codable, Sendable, Equatable {
    public var downloaded: Int64
    /// Of that, of documents that no program has opened so far.
    public var unused: Int64

    public init(downloaded: Int64, unused: Int64) {
        self.downloaded = downloaded
        self.unused = unused
    }
}

/// How full the store is, in bytes, as it said last.
public struct StoreUse: Codable, Sendable, Equatable {
    public var used: Int64
    /// nil: there is no limit, or none that is known.
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
    /// What it is mounted from, such as `dir:/STORE`.
    public var provider: String
    /// Absolute.
    public var mountPoint: String
    /// The daemon's process id.
    public var pid: Int32
    /// What the provider has not confirmed yet; empty when all is sent.
    public var pending: [PendingChange]
    /// Whether downloaded documents are read and written straight in the kernel.
    public var passthrough: Bool
    /// Where the daemon keeps its catalog and the bytes; absolute. Older daemons do not say.
    public var stateDirectory: String?
    public var disk: DiskUse
    /// nil: the provider does not tell.
    public var store: StoreUse?
    /// What is on its way now. Older daemons do not say.
    public var transfers: [RunningTransfer]?
    public var settings: DomainSettings?
    /// How many conflicts nobody has resolved. Older daemons do not say.
    public var conflicts: Int?
    /// What the store deleted and waits for a person; nil when nothing does.
    public var heldDeletions: HeldDeletionsStatus?
    /// Whether the store answers. Older daemons do not say.
    public var connection: ConnectionStatus?
    /// As the provider calls itself: the purpose of whoever writes for it. Older daemons do not say.
    public var providerIdentifier: String?
    /// Older daemons do not say.
    public var isReadOnly: Bool?
    /// Older daemons do not say.
    public var readAhead: ReadAheadUse?
    /// What people know it by: the name that it was given, else that of the folder that it is mounted on. Older daemons do
    /// not say.
    public var title: String?
    /// Whether there is an account to sign in to, and out of. Older daemons do not say.
    public var signsIn: Bool?

    public init(
        domain: String, provider: String, mountPoint: String, pid: Int32, pending: [PendingChange] = [],
        passthrough: Bool, stateDirectory: String? = nil, disk: DiskUse,
        transfers: [RunningTransfer]? = nil, settings: DomainSettings? = nil, conflicts: Int? = nil,
        store: StoreUse? = nil, heldDeletions: HeldDeletionsStatus? = nil, connection: ConnectionStatus? = nil,
        providerIdentifier: String? = nil, isReadOnly: Bool? = nil, readAhead: ReadAheadUse? = nil,
        title: String? = nil, signsIn: Bool? = nil
    ) {
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
    /// Seconds since 1970: since when it is so; nil: nobody has asked yet.
    public var since: Double?
    /// Why not, for people.
    public var reason: String?
    /// It asks for another password. Older daemons do not say.
    public var needsSignIn: Bool?

    public init(isOnline: Bool, since: Double? = nil, reason: String? = nil, needsSignIn: Bool? = nil) {
        self.needsSignIn = needsSignIn
        self.isOnline = isOnline
        self.since = since
        self.reason = reason
    }
}
