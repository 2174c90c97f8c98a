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

    public init(path: String, what: String, error: String? = nil, nextTry: Double? = nil) {
        self.path = path
        self.what = what
        self.error = error
        self.nextTry = nextTry
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

    public init(
        domain: String, provider: String, mountPoint: String, pid: Int32, pending: [PendingChange] = [],
        passthrough: Bool
    ) {
        self.domain = domain
        self.provider = provider
        self.mountPoint = mountPoint
        self.pid = pid
        self.pending = pending
        self.passthrough = passthrough
    }
}
