/// The page of an extension: folders, documents, or a place. The picker adds the provider's title, the way to other
/// providers, progress and errors.
public struct PickerPage: Sendable, Codable, Equatable {
    /// A document or a folder.
    public struct Entry: Sendable, Codable, Equatable {
        /// Identifies the entry in ``PickerAction/choose(_:)``; unique on the page.
        public var id: String
        /// The name to show.
        public var name: String
        /// Whether choosing the entry opens it.
        public var isFolder: Bool
        /// A uniform type identifier.
        public var type: String?
        /// In bytes.
        public var size: Int64?
        /// Seconds since 1970.
        public var modified: Double?
        /// Whether the document's bytes are on this machine; nil: unknown, or not a document.
        public var isHere: Bool?
        /// Whether the entry can be chosen; otherwise it is greyed out.
        public var isSelectable: Bool
        /// A remark, such as the progress of a download.
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
    /// The entries, in the order to show.
    public var entries: [Entry]
    /// A line above or instead of the entries.
    public var message: String?
    /// The text of the search that the entries match.
    public var search: String
    /// Whether ``PickerAction/makeFolder(_:)`` works here.
    public var canMakeFolder: Bool
    /// The name that the document would get here; nil: nothing can be put here.
    public var filename: String?
    /// The page is not complete; another one follows.
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

extension PickerPage {
    /// Missing keys have the defaults of ``init(location:entries:message:search:canMakeFolder:filename:isLoading:)``.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            location: try container.decodeIfPresent([String].self, forKey: .location) ?? [],
            entries: try container.decodeIfPresent([Entry].self, forKey: .entries) ?? [],
            message: try container.decodeIfPresent(String.self, forKey: .message),
            search: try container.decodeIfPresent(String.self, forKey: .search) ?? "",
            canMakeFolder: try container.decodeIfPresent(Bool.self, forKey: .canMakeFolder) ?? false,
            filename: try container.decodeIfPresent(String.self, forKey: .filename),
            isLoading: try container.decodeIfPresent(Bool.self, forKey: .isLoading) ?? false)
    }
}

extension PickerPage.Entry {
    /// Only `id` and `name` are required.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(String.self, forKey: .id), name: try container.decode(String.self, forKey: .name),
            isFolder: try container.decodeIfPresent(Bool.self, forKey: .isFolder) ?? false,
            type: try container.decodeIfPresent(String.self, forKey: .type),
            size: try container.decodeIfPresent(Int64.self, forKey: .size),
            modified: try container.decodeIfPresent(Double.self, forKey: .modified),
            isHere: try container.decodeIfPresent(Bool.self, forKey: .isHere),
            isSelectable: try container.decodeIfPresent(Bool.self, forKey: .isSelectable) ?? true,
            note: try container.decodeIfPresent(String.self, forKey: .note))
    }
}
