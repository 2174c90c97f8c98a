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
        case .lock: 11
        case .lockOwnerType: 12
        case .lockOwner: 13
        case .lockOwnerName: 14
        }
    }

    /// The properties that a listing requests.
    static let ofItems: [DAVProperty] = [
        .resourceType, .contentLength, .lastModified, .entityTag, .resourceID, .fileID, .permissions,
        .checksums, .lock, .lockOwnerType, .lockOwner, .lockOwnerName,
    ]

    /// Those that Apache's mod_dav_fs does not have: it looks for them in a database of client properties for each
    /// resource, which takes twice as long as all the rest, and answers that they are missing.
    static let unknownToApache = ofLocks.union([.resourceID, .fileID, .permissions, .checksums, .syncToken])

    /// The properties that a listing of a folder requests.
    static let ofFolders = ofItems + [.syncToken]

    /// The body of a PROPFIND (RFC 4918, 9.1).
    static func question(_ properties: [DAVProperty]) -> [UInt8] { Array(propfind(properties).utf8) }

    private static func propfind(_ properties: [DAVProperty]) -> String {
        #"<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:" xmlns:O="http://owncloud.org/ns" xmlns:N="http://nextcloud.org/ns">"#
            + list(properties) + "</D:propfind>"
    }

    /// The element `D:prop`, with the prefixes D, O and N.
    static func list(_ properties: [DAVProperty]) -> String {
        let names = properties.map { property in
            let parts = property.rawValue.split(separator: "|")
            let prefix = parts[0] == "DAV:" ? "D" : parts[0] == "http://owncloud.org/ns" ? "O" : "N"
            return "<\(prefix):\(parts[1])/>"
        }
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
