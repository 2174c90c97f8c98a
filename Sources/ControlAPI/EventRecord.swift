/// Something that happened in a mounted domain, as `hydrant events --json` prints it.
///
/// Every key is always there, `null` where there is no value.
public struct EventRecord: Sendable, Equatable {
    /// The process that began a download.
    public struct Process: Codable, Sendable, Equatable {
        public var pid: Int32
        /// The command's name, at most 15 bytes; nil: the process had ended before it could be read.
        public var name: String?

        public init(pid: Int32, name: String?) {
            self.pid = pid
            self.name = name
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(pid, forKey: .pid)
            try container.encode(name, forKey: .name)
        }
    }

    /// When the event was over: ISO 8601, UTC, with milliseconds.
    public var time: String
    /// A hook's name, `conflict`, `evicted`, `remoteChange`, `deletionsHeld`, `deletionsReleased`, `error`, `online`,
    /// `offline`; or ``lost``.
    public var event: String
    /// Absolute, for people and scripts: invalid UTF-8 is shown as U+FFFD. Nil: the event concerns no item.
    public var path: String?
    public var identifier: String?
    /// Bytes transferred or evicted.
    public var bytes: Int64?
    /// The duration of the hook.
    public var durationMs: Double?
    public var process: Process?
    /// The code of a failure: the provider's, or one of Hydrant's.
    public var code: String?
    /// For people; an error's message names the file, the reason, and what happens next.
    public var message: String?
    /// With ``lost``: how many events this reader was too slow for.
    public var count: Int?

    /// The `event` of a record that stands for events that this reader was too slow for.
    public static let lost = "lost"

    public init(
        time: String, event: String, path: String? = nil, identifier: String? = nil, bytes: Int64? = nil,
        durationMs: Double? = nil, process: Process? = nil, code: String? = nil, message: String? = nil,
        count: Int? = nil
    ) {
        self.time = time
        self.event = event
        self.path = path
        self.identifier = identifier
        self.bytes = bytes
        self.durationMs = durationMs
        self.process = process
        self.code = code
        self.message = message
        self.count = count
    }
}

extension EventRecord: Codable {
    private enum CodingKeys: String, CodingKey {
        case time, event, path, identifier, bytes, durationMs, process, code, message, count
    }

    // By hand, to keep the keys of nil values.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(time, forKey: .time)
        try container.encode(event, forKey: .event)
        try container.encode(path, forKey: .path)
        try container.encode(identifier, forKey: .identifier)
        try container.encode(bytes, forKey: .bytes)
        try container.encode(durationMs, forKey: .durationMs)
        try container.encode(process, forKey: .process)
        try container.encode(code, forKey: .code)
        try container.encode(message, forKey: .message)
        try container.encode(count, forKey: .count)
    }
}
