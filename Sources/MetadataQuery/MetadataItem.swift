import ControlAPI
public import Foundation
public import QueryLanguage
public import UniformTypes

/// A document, link or folder that a query has found, as it was then. It need not be on this machine.
///
/// Source: Apple, `NSMetadataItem`, and the attributes `NSMetadataItem…Key`.
public struct MetadataItem: Sendable, Hashable, Identifiable {
    /// Names an item within all domains for as long as it has a name there, whatever that is changed to.
    public struct ID: Sendable, Hashable {
        let mountPoint: String
        let number: Int64
    }

    /// What it is.
    public enum Kind: String, Sendable, Hashable, Codable {
        case document, folder, link
        /// A pipe, a socket or a device.
        case special
    }

    /// How much of it is on this machine.
    public enum Download: String, Sendable, Hashable, Codable {
        /// Nothing; of a folder: nobody has looked into it.
        case placeholder
        /// Some bytes.
        case partial
        /// Everything.
        case downloaded
    }

    /// A document of another program's, or of a provider's, to which this program was given a right.
    public struct External: Sendable, Hashable {
        /// The reference document in the program's own folder.
        public let referenceURL: URL
        /// For people: where the document comes from.
        public let containerDisplayName: String
    }

    /// See ``ID``.
    public let id: ID
    /// Where it is.
    public let url: URL
    /// Relative to the mount point of its domain. Bytes that are no UTF-8 are U+FFFD.
    public let path: String
    /// The last part of the path.
    public let name: String
    /// See ``Kind``.
    public let kind: Kind
    /// As the name tells it.
    public let contentType: UniformType
    /// In bytes; of folders 0.
    public let size: Int64
    /// Last change of the contents.
    public let contentModificationDate: Date
    /// When it was made.
    public let creationDate: Date
    /// When a program read it here last.
    public let lastUsedDate: Date
    /// A user's name, or the number of one that has none.
    public let owner: String
    /// See ``Download``.
    public let download: Download
    /// In bytes, at most ``size``.
    public let bytesDownloaded: Int64
    /// What else holds of it: `QueryPredicate.ItemCondition.uploading`, `error`, `conflict`, `pinned`, `excluded`;
    /// `unlisted`: only the store's own search knows of it, and it is a ``Download/placeholder`` that its folder will show.
    public let conditions: Set<QueryPredicate.ItemCondition>
    /// The provider's; nil: the store does not know it (yet).
    public let identifier: String?
    /// What went wrong when it was last sent or brought, for people.
    public let lastError: String?
    /// Empty unless the query asked for them (``MetadataQuery/wantsTags``).
    public let tags: [String]
    /// Where this user has mounted its domain.
    public let domainURL: URL
    /// Nil: it was found otherwise than by ``SearchScope/externalDocuments(referencedIn:)``.
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

/// What results are sorted and grouped by.
public enum MetadataAttribute: String, Sendable, Hashable, CaseIterable {
    case name, path, kind, contentType, size, contentModificationDate, creationDate, lastUsedDate, owner, download,
        domain
}

/// One step of an order. What is equal in all steps is ordered by path.
public struct MetadataSort: Sendable, Hashable {
    /// By what.
    public var attribute: MetadataAttribute
    /// The smallest, or earliest, first.
    public var isAscending: Bool

    /// See the properties.
    public init(_ attribute: MetadataAttribute, ascending: Bool = true) {
        self.attribute = attribute
        isAscending = ascending
    }
}

/// Results that have one value.
public struct MetadataGroup: Sendable {
    /// Of the attribute that they are grouped by, as text.
    public let value: String
    /// In the query's order.
    public let results: [MetadataItem]
}

extension MetadataItem {
    /// Names are compared as people do (`b2` before `b10`); by bytes where that does not tell them apart.
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

    /// For grouping.
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
