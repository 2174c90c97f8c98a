/// A wish to read or write items with nobody in between, as it goes to the daemon of their domain.
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

    /// Names the claim, in all daemons.
    public var id: String
    /// Those of one purpose do not exclude each other.
    public var purpose: String
    /// Claims, in any daemon, that whoever makes this one holds meanwhile.
    public var within: [String]
    /// The presenter on whose behalf it is made.
    public var presenter: String?
    /// The process that holds the connection.
    public var pid: Int32
    /// For people: the program that wants the items, which may have another process hold them.
    public var program: String
    /// Its process; nil: that of ``pid``.
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

/// As `NSFileCoordinator.ReadingOptions` and `WritingOptions` have it.
public enum CoordinationOption: String, Codable, Sendable, CaseIterable {
    /// Presenters need not save first.
    case withoutChanges
    /// Nothing is downloaded.
    case immediatelyAvailableMetadataOnly
    /// A copy, of a folder of all that is in it, that stays as it is while others go on.
    case forUploading
    case forDeleting
    case forMoving
    case forMerging
    case forReplacing
    /// Nothing is downloaded, and presenters are not asked.
    case contentIndependentMetadataOnly
}

/// A claim that is held from now on, until the connection is closed.
public struct CoordinationGrant: Codable, Sendable, Equatable {
    public struct Place: Codable, Sendable, Equatable {
        /// Where the item is by now, relative to the mount point.
        public var path: PathBytes
        /// Absolute: a copy of it; gone when the claim is.
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

/// Somebody who holds items, or waits for them.
public struct ClaimStatus: Codable, Sendable, Equatable {
    public var id: String
    public var purpose: String
    public var pid: Int32
    public var program: String
    public var isGranted: Bool
    /// Absolute, for people.
    public var reading: [String]
    public var writing: [String]
    /// Claims that have to end before this one is granted, or before it ends.
    public var waitsFor: [String]
    /// Claims that its maker holds meanwhile.
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

/// Who shows an item, and wants to be asked before others use it.
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

/// What a presenter is asked before somebody uses its item, or told after something happened to it.
public struct PresenterMessage: Codable, Sendable, Equatable {
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// It is registered; nothing that happens from now on is missed.
        case registered
        /// Asked; to be answered with ``ControlRequest/answer(presenter:question:)``.
        case relinquishToReader, relinquishToWriter, saveChanges, accommodateDeletion
        /// Told: the reader, or writer, is done.
        case reacquire
        /// Told: it has other contents, or attributes.
        case changed
        case moved
        case deleted
        /// Told: there is another version of it, in a copy.
        case conflict
        case resolved
        /// Told, of a folder: somebody's coordinated access to an item in it has ended, and the item is another one than before,
        /// or is new. ``path`` is the item's.
        case subitemChanged
        /// The same, of one that is gone; ``path`` is where it was.
        case subitemDeleted
    }
    public var kind: Kind
    /// Of a question.
    public var question: Int?
    /// Where the item is by now; of ``Kind/conflict``, the other version; of a subitem, that. Absolute, for people.
    public var path: String?
    /// The same for system calls, relative to the mount point.
    public var place: PathBytes?

    public init(_ kind: Kind, question: Int? = nil, path: String? = nil, place: PathBytes? = nil) {
        self.kind = kind
        self.question = question
        self.path = path
        self.place = place
    }
}
