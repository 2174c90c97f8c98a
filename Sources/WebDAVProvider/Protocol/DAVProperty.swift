import Glibc

/// The requested properties, by namespace and name.
enum DAVProperty: String, CaseIterable {
    case resourceType = "DAV:|resourcetype"
    case contentLength = "DAV:|getcontentlength"
    case lastModified = "DAV:|getlastmodified"
    case entityTag = "DAV:|getetag"
    /// RFC 5842, 3.1.
    case resourceID = "DAV:|resource-id"
    /// docs.nextcloud.com, WebDAV: the number of the file, unique on the server; and the operations that this user may
    /// do.
    case fileID = "http://owncloud.org/ns|fileid"
    case permissions = "http://owncloud.org/ns|permissions"
    /// The checksums that a client sent with the contents: `SHA1:…`, or several.
    case checksums = "http://owncloud.org/ns|checksums"
    /// See ``CloudLock``.
    case lock = "http://nextcloud.org/ns|lock"
    case lockOwnerType = "http://nextcloud.org/ns|lock-owner-type"
    case lockOwner = "http://nextcloud.org/ns|lock-owner"
    case lockOwnerName = "http://nextcloud.org/ns|lock-owner-displayname"
    /// For a folder whose changes the server can report (RFC 6578, 4).
    case syncToken = "DAV:|sync-token"
    /// RFC 4331; in bytes.
    case quotaUsed = "DAV:|quota-used-bytes"
    case quotaAvailable = "DAV:|quota-available-bytes"
    /// docs.nextcloud.com, WebDAV: `1` for a favourite of this user's; the user's own tags; everybody's tags.
    case favorite = "http://owncloud.org/ns|favorite"
    case ownTags = "http://owncloud.org/ns|tags"
    case systemTags = "http://nextcloud.org/ns|system-tags"
    /// What the share that the item is in allows: 1 to read, 2 to change, 4 to make items, 8 to delete them.
    case sharePermissions = "http://open-collaboration-services.org/ns|share-permissions"
    /// `true`: the topmost folder of another storage (Nextcloud 28).
    case isMountRoot = "http://nextcloud.org/ns|is-mount-root"
    /// Of an item in the trash; the place from the user's topmost folder on, and seconds since 1970.
    case trashPlace = "http://nextcloud.org/ns|trashbin-original-location"
    case trashMoment = "http://nextcloud.org/ns|trashbin-deletion-time"
    /// In bytes; of a folder, of all that is in it.
    case wholeSize = "http://owncloud.org/ns|size"

    /// Of an earlier version of a document: the name that somebody gave it (Nextcloud 26), and the identifier of the user
    /// who wrote it (Nextcloud 29).
    case versionLabel = "http://nextcloud.org/ns|version-label"
    case versionAuthor = "http://nextcloud.org/ns|version-author"

    fileprivate static let count = allCases.count

    /// From an element name of ``XMLStream``.
    init?(element name: UnsafePointer<CChar>) {
        guard
            let property = Self.names.first(where: {
                $0.name.withUnsafeBufferPointer { strcmp($0.baseAddress!, name) == 0 }
            })
        else { return nil }
        self = property.property
    }

    private static let names = allCases.map { (name: $0.rawValue.utf8CString, property: $0) }

    fileprivate var position: Int {
        switch self {
        case .resourceType: 0
        case .contentLength: 1
        case .lastModified: 2
        case .entityTag: 3
        case .resourceID: 4
        case .fileID: 5
        case .permissions: 6
        case .checksums: 7
        case .syncToken: 8
        case .quotaUsed: 9
        case .quotaAvailable: 10
        case .favorite: 11
        case .ownTags: 12
        case .systemTags: 13
        case .sharePermissions: 14
        case .isMountRoot: 15
        case .trashPlace: 16
        case .trashMoment: 17
        case .wholeSize: 18
        case .lock: 19
        case .lockOwnerType: 20
        case .lockOwner: 21
        case .lockOwnerName: 22
        case .versionLabel: 23
        case .versionAuthor: 24
        }
    }

    /// The properties that a listing requests.
    static let ofItems: [DAVProperty] = [
        .resourceType, .contentLength, .lastModified, .entityTag, .resourceID, .fileID, .permissions,
        .checksums, .favorite, .ownTags, .systemTags, .sharePermissions, .isMountRoot,
        .lock, .lockOwnerType, .lockOwner, .lockOwnerName,
    ]

    /// Those that only ownCloud and Nextcloud have, and that no other server is asked for.
    static let ofClouds: Set<DAVProperty> = [.favorite, .ownTags, .systemTags, .sharePermissions, .isMountRoot]

    /// The value has one element for each of several texts.
    var isList: Bool { self == .ownTags || self == .systemTags }

    /// Those that Apache's mod_dav_fs does not have: it looks for them in a database of client properties for each
    /// resource, which takes twice as long as all the rest, and answers that they are missing.
    static let unknownToApache = ofClouds.union(ofLocks).union([
        .resourceID, .fileID, .permissions, .checksums, .syncToken,
    ])

    /// The properties that a listing of a folder requests.
    static let ofFolders = ofItems + [.syncToken]

    /// The body of a PROPFIND (RFC 4918, 9.1).
    static func question(_ properties: [DAVProperty]) -> [UInt8] { Array(propfind(properties).utf8) }

    private static func propfind(_ properties: [DAVProperty]) -> String {
        #"<?xml version="1.0" encoding="utf-8"?><D:propfind \#(spaces(of: properties))>"# + list(properties)
            + "</D:propfind>"
    }

    private static let prefixes = [
        "DAV:": "D", "http://owncloud.org/ns": "O", "http://nextcloud.org/ns": "N",
        "http://open-collaboration-services.org/ns": "S",
    ]

    /// The namespace, and the name in it.
    private var parts: (space: String, name: String) {
        let parts = rawValue.split(separator: "|")
        return (String(parts[0]), String(parts[1]))
    }

    /// The declarations of the prefixes of these properties, and of D and O.
    static func spaces(of properties: [DAVProperty]) -> String {
        let used = Set(properties.map(\.parts.space)).union(["DAV:", "http://owncloud.org/ns"])
        return used.sorted().map { #"xmlns:\#(prefixes[$0]!)="\#($0)""# }.joined(separator: " ")
    }

    /// The element `D:prop`, with the prefixes of ``spaces(of:)``.
    static func list(_ properties: [DAVProperty]) -> String {
        let names = properties.map { "<\(prefixes[$0.parts.space]!):\($0.parts.name)/>" }
        return "<D:prop>\(names.joined())</D:prop>"
    }
}

/// The values in an answer, by property.
struct DAVProperties: Sendable {
    private var values: [String?] = []

    /// In bytes.
    var size: Int { values.reduce(0) { $0 + ($1?.utf8.count ?? 0) } }

    subscript(property: DAVProperty) -> String? {
        get { values.isEmpty ? nil : values[property.position] }
        set {
            if values.isEmpty { values = Array(repeating: nil, count: DAVProperty.count) }
            values[property.position] = newValue
        }
    }
}
