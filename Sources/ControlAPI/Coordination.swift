/// A request to the daemon of a domain: read or write items while nobody else uses them.
public struct CoordinationRequest: Codable, Sendable, Equatable {
    public struct Intent: Codable, Sendable, Equatable {
        public var path: PathBytes
        public var isWriting: Bool
        public var options: Set<CoordinationOption>

        public init(path: PathBytes, isWriting: Bool, options: Set<CoordinationOption> = []) {
            self.path = path
            self.isWriting = isWriting
            self.options = options
        }
    }

    /// Identifies the claim in all daemons.
    public var id: String
    /// Claims of one purpose do not exclude each other.
    public var purpose: String
    /// Claims, in any daemon, that the requester holds meanwhile.
    public var within: [String]
    /// The presenter for which the claim is made.
    public var presenter: String?
    /// The process that holds the connection.
    public var pid: Int32
    /// For people: the program that wants the items; another process may hold the connection for it.
    public var program: String
    /// The program's process; nil: ``pid``.
    public var programPID: Int32?
    public var intents: [Intent]

    public init(
        id: String, purpose: String, within: [String] = [], presenter: String? = nil, pid: Int32, program: String,
        programPID: Int32? = nil, intents: [Intent]
    ) {
        self.id = id
        self.purpose = purpose
        self.within = within
        self.presenter = presenter
        self.pid = pid
        self.program = program
        self.programPID = programPID
        self.intents = intents
    }
}

/// The options of `NSFileCoordinator.ReadingOptions` and `WritingOptions`.
public enum CoordinationOption: String, Codable, Sendable, CaseIterable {
    /// Presenters need not save first.
    case withoutChanges
    /// Nothing is downloaded.
    case immediatelyAvailableMetadataOnly
    /// Read from a copy (of a folder: with everything in it), which stays unchanged while others write.
    case forUploading
    case forDeleting
    case forMoving
    case forMerging
    case forReplacing
    /// Nothing is downloaded, and presenters are not asked.
    case contentIndependentMetadataOnly
}

/// A granted claim, which is held until the connection closes.
public struct CoordinationGrant: Codable, Sendable, Equatable {
    public struct Place: Codable, Sendable, Equatable {
        /// The item's present path, relative to the mount point.
        public var path: PathBytes
        /// The absolute path of a copy of the item; removed when the claim ends.
        public var snapshot: String?

        public init(path: PathBytes, snapshot: String? = nil) {
            self.path = path
            self.snapshot = snapshot
        }
    }
    /// In the order of the intents.
    public var places: [Place]

    public init(places: [Place]) { self.places = places }
}

/// A program that holds items, or waits for them.
public struct ClaimStatus: Codable, Sendable, Equatable {
    public var id: String
    public var purpose: String
    public var pid: Int32
    public var program: String
    public var isGranted: Bool
    /// Absolute, for people.
    public var reading: [String]
    public var writing: [String]
    /// Claims that must end before this one is granted, or before it ends.
    public var waitsFor: [String]
    /// Claims that the requester holds meanwhile.
    public var within: [String]

    public init(
        id: String, purpose: String, pid: Int32, program: String, isGranted: Bool, reading: [String],
        writing: [String], waitsFor: [String], within: [String]
    ) {
        self.id = id
        self.purpose = purpose
        self.pid = pid
        self.program = program
        self.isGranted = isGranted
        self.reading = reading
        self.writing = writing
        self.waitsFor = waitsFor
        self.within = within
    }

    private enum CodingKeys: String, CodingKey {
        case id, purpose, pid, program
        case isGranted = "granted"
        case reading, writing, waitsFor, within
    }
}

/// A request of a program that shows an item, and wants to be asked before others use it.
public struct PresenterRequest: Codable, Sendable, Equatable {
    public var id: String
    public var purpose: String
    public var path: PathBytes

    public init(id: String, purpose: String, path: PathBytes) {
        self.id = id
        self.purpose = purpose
        self.path = path
    }
}

/// A message to a presenter: a question before somebody uses its item, or news of what happened to the item.
public struct PresenterMessage: Codable, Sendable, Equatable {
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// The presenter is registered; from now on it misses nothing.
        case registered
        /// A question, which ``ControlRequest/answer(presenter:question:)`` answers.
        case relinquishToReader, relinquishToWriter, saveChanges, accommodateDeletion
        /// News: the reader or writer is done.
        case reacquire
        /// News: the item's contents or attributes have changed.
        case changed
        case moved
        case deleted
        /// News: there is another version of the item, in a copy.
        case conflict
        case resolved
        /// News of a folder: a coordinated access to an item in it has ended, and the item has changed or is new.
        /// ``path`` is the item's.
        case subitemChanged
        /// News of a folder: an item in it is gone after a coordinated access; ``path`` is the item's former path.
        case subitemDeleted
    }
    public var kind: Kind
    /// The number of a question.
    public var question: Int?
    /// The present path of the item, of the other version (``Kind/conflict``), or of the subitem. Absolute, for people.
    public var path: String?
    /// ``path`` for system calls, relative to the mount point.
    public var place: PathBytes?

    public init(_ kind: Kind, question: Int? = nil, path: String? = nil, place: PathBytes? = nil) {
        self.kind = kind
        self.question = question
        self.path = path
        self.place = place
    }
}
