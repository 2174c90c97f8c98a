/// What an extension shows: folders, documents, a place. The picker draws the rest: the provider's title, the switch to
/// others, progress, errors.
public struct PickerPage: Sendable, Codable, Equatable {
    /// A document or a folder.
    public struct Entry: Sendable, Codable, Equatable {
        /// Names it in ``PickerAction/choose(_:)``; unique on the page.
        public var id: String
        /// As the user knows it.
        public var name: String
        /// Whether it is opened instead of chosen.
        public var isFolder: Bool
        /// A uniform type identifier.
        public var type: String?
        /// In bytes.
        public var size: Int64?
        /// Seconds since 1970.
        public var modified: Double?
        /// Whether its bytes are on this machine; nil: it has none, or that is not known.
        public var isHere: Bool?
        /// Whether it can be chosen; if not, it is shown greyed.
        public var isSelectable: Bool
        /// What else there is to say of it: that it is being downloaded, and how far.
        public var note: String?

        /// See the properties.
        public init(
            id: String, name: String, isFolder: Bool = false, type: String? = nil, size: Int64? = nil,
            modified: Double? = nil, isHere: Bool? = nil, isSelectable: Bool = true, note: String? = nil
        ) {
            self.id = id
            self.name = name
            self.isFolder = isFolder
            self.type = type
            self.size = size
            self.modified = modified
            self.isHere = isHere
            self.isSelectable = isSelectable
            self.note = note
        }
    }

    /// The folders from the topmost one to this, for the location switcher.
    public var location: [String]
    /// In the order to show.
    public var entries: [Entry]
    /// A line above or instead of the entries.
    public var message: String?
    /// What the entries were searched for.
    public var search: String
    /// Whether ``PickerAction/makeFolder(_:)`` works here.
    public var canMakeFolder: Bool
    /// The name under which the document would be put here; nil: nothing can be put here.
    public var filename: String?
    /// Something is being fetched; there will be another page.
    public var isLoading: Bool

    /// See the properties.
    public init(
        location: [String] = [], entries: [Entry] = [], message: String? = nil, search: String = "",
        canMakeFolder: Bool = false, filename: String? = nil, isLoading: Bool = false
    ) {
        self.location = location
        self.entries = entries
        self.message = message
        self.search = search
        self.canMakeFolder = canMakeFolder
        self.filename = filename
        self.isLoading = isLoading
    }
}
