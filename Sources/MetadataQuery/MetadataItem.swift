import ControlAPI
public import Foundation
public import QueryLanguage
public import UniformTypes

/// A document, link or folder that a query has found, with its values at that time. It need not be on this machine.
///
/// Source: Apple, `NSMetadataItem`, and the attributes `NSMetadataItem…Key`.
public struct MetadataItem: Sendable, Hashable, Identifiable {
    /// Identifies an item in all domains for as long as it has a name, also when it is renamed.
    public struct ID: Sendable, Hashable {
        let mountPoint: String
        let number: Int64
    }

    /// The kind of item.
    public enum Kind: String, Sendable, Hashable, Codable {
        case document, folder, link
        /// A pipe, a socket or a device.
        case special
    }

    /// How much of the item is on this machine.
    public enum Download: String, Sendable, Hashable, Codable {
        /// Nothing; a folder that nobody has listed.
        case placeholder
        /// Some bytes.
        case partial
        /// Everything.
        case downloaded
    }

    /// A document of another program or of a provider, to which this program was given a right.
    public struct External: Sendable, Hashable {
        /// The reference document in the program's own folder.
        public let referenceURL: URL
        /// The name of the document's domain or program, for people.
        public let containerDisplayName: String
    }

    /// See ``ID``.
    public let id: ID
    /// The item's URL.
    public let url: URL
    /// Relative to the mount point of its domain. Invalid UTF-8 is shown as U+FFFD.
    public let path: String
    /// The last component of the path.
    public let name: String
    /// See ``Kind``.
    public let kind: Kind
    /// The type that the name implies.
    public let contentType: UniformType
    /// In bytes; 0 for folders.
    public let size: Int64
    /// The last change of the contents.
    public let contentModificationDate: Date
    /// When the item was created.
    public let creationDate: Date
    /// When a program read the item here last.
    public let lastUsedDate: Date
    /// The owner's name, or number if there is no name.
    public let owner: String
    /// See ``Download``.
    public let download: Download
    /// In bytes, at most ``size``.
    public let bytesDownloaded: Int64
    /// Further conditions: `QueryPredicate.ItemCondition.downloading`, `uploading`, `error`, `conflict`, `pinned`,
    /// `excluded`; `unlisted`: only the store's own search has found the item, a ``Download/placeholder`` that its folder will
    /// show.
    public let conditions: Set<QueryPredicate.ItemCondition>
    /// The provider's identifier; nil: the store does not know the item (yet).
    public let identifier: String?
    /// The error of the last upload or download, for people.
    public let lastError: String?
    /// Empty unless the query asked for tags (``MetadataQuery/wantsTags``).
    public let tags: [String]
    /// The mount point of the item's domain.
    public let domainURL: URL
    /// Set for an item found through ``SearchScope/externalDocuments(referencedIn:)``.
    public internal(set) var external: External?

    init(_ item: QueryItem, mountPoint: String) {
        id = ID(mountPoint: mountPoint, number: item.number)
        url = ByteText.url(mountPoint + "/" + ByteText.text(item.path.bytes))
        path = item.path.string
        name = item.path.string.split(separator: "/").last.map(String.init) ?? ""
        kind = Kind(rawValue: item.kind.rawValue) ?? .special
        contentType = UniformType(item.type)
        size = item.size
        contentModificationDate = Date(timeIntervalSince1970: item.modified)
        creationDate = Date(timeIntervalSince1970: item.created)
        lastUsedDate = Date(timeIntervalSince1970: item.accessed)
        owner = item.owner
        download = Download(rawValue: item.state.rawValue) ?? .placeholder
        bytesDownloaded = item.bytesDownloaded
        conditions = item.conditions
        identifier = item.identifier
        lastError = item.error
        tags = item.tags
        domainURL = URL(filePath: mountPoint, directoryHint: .isDirectory)
    }
}

/// The attributes to sort and group results by.
public enum MetadataAttribute: String, Sendable, Hashable, CaseIterable {
    case name, path, kind, contentType, size, contentModificationDate, creationDate, lastUsedDate, owner, download,
        domain
}

/// One step of a sort order. Items that are equal in all steps are ordered by path.
public struct MetadataSort: Sendable, Hashable {
    /// The attribute to sort by.
    public var attribute: MetadataAttribute
    /// Whether the smallest, or earliest, value comes first.
    public var isAscending: Bool

    /// See the properties.
    public init(_ attribute: MetadataAttribute, ascending: Bool = true) {
        self.attribute = attribute
        isAscending = ascending
    }
}

/// Results with the same value of an attribute.
public struct MetadataGroup: Sendable {
    /// The value, as text.
    public let value: String
    /// In the query's order.
    public let results: [MetadataItem]
}

extension MetadataItem {
    /// Compares names as people do (`b2` before `b10`), then by bytes.
    static func isBefore(_ one: Self, _ other: Self, _ sorts: [MetadataSort]) -> Bool {
        for sort in sorts {
            let order = compare(one, other, sort.attribute)
            if order != .orderedSame { return (order == .orderedAscending) == sort.isAscending }
        }
        return (one.url.path, one.id.number) < (other.url.path, other.id.number)
    }

    private static func compare(_ one: Self, _ other: Self, _ attribute: MetadataAttribute) -> ComparisonResult {
        func order<Value: Comparable>(_ value: (Self) -> Value) -> ComparisonResult {
            let (first, second) = (value(one), value(other))
            return first == second ? .orderedSame : first < second ? .orderedAscending : .orderedDescending
        }
        switch attribute {
        case .name: return one.name.compare(other.name, options: [.caseInsensitive, .numeric])
        case .size: return order(\.size)
        case .contentModificationDate: return order(\.contentModificationDate)
        case .creationDate: return order(\.creationDate)
        case .lastUsedDate: return order(\.lastUsedDate)
        default: return order { $0.text(of: attribute) }
        }
    }

    /// An attribute's value as text, for grouping.
    func text(of attribute: MetadataAttribute) -> String {
        switch attribute {
        case .name: name
        case .path: path
        case .kind: kind.rawValue
        case .contentType: contentType.identifier
        case .size: "\(size)"
        case .contentModificationDate: contentModificationDate.ISO8601Format()
        case .creationDate: creationDate.ISO8601Format()
        case .lastUsedDate: lastUsedDate.ISO8601Format()
        case .owner: owner
        case .download: download.rawValue
        case .domain: domainURL.lastPathComponent
        }
    }
}
