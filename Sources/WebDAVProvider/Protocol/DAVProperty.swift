/// Properties of resources that are asked for, by namespace and name.
enum DAVProperty: String, CaseIterable {
    case resourceType = "DAV:|resourcetype"
    case contentLength = "DAV:|getcontentlength"
    case lastModified = "DAV:|getlastmodified"
    case entityTag = "DAV:|getetag"
    /// RFC 5842, 3.1.
    case resourceID = "DAV:|resource-id"
    /// docs.nextcloud.com, WebDAV: the number of the file, unique on the server; and what this user may do.
    case fileID = "http://owncloud.org/ns|fileid"
    case permissions = "http://owncloud.org/ns|permissions"
    /// What contents were sent with: `SHA1:…`, or several.
    case checksums = "http://owncloud.org/ns|checksums"
    /// Of a folder of which the server tells what has changed since (RFC 6578, 4).
    case syncToken = "DAV:|sync-token"
    /// RFC 4331; in bytes.
    case quotaUsed = "DAV:|quota-used-bytes"
    case quotaAvailable = "DAV:|quota-available-bytes"

    /// What a listing asks for.
    static let ofItems: [DAVProperty] = [
        .resourceType, .contentLength, .lastModified, .entityTag, .resourceID, .fileID, .permissions,
        .checksums,
    ]

    /// What a folder's listing asks for.
    static let ofFolders = ofItems + [.syncToken]

    /// The body of a PROPFIND (RFC 4918, 9.1).
    static func question(_ properties: [DAVProperty]) -> [UInt8] { Array(propfind(properties).utf8) }

    private static func propfind(_ properties: [DAVProperty]) -> String {
        #"<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:" xmlns:O="http://owncloud.org/ns">"#
            + list(properties) + "</D:propfind>"
    }

    /// The element `D:prop`, with the prefixes D and O.
    static func list(_ properties: [DAVProperty]) -> String {
        let names = properties.map { property in
            let name = property.rawValue.split(separator: "|")[1]
            return property.rawValue.hasPrefix("DAV:|") ? "<D:\(name)/>" : "<O:\(name)/>"
        }
        return "<D:prop>\(names.joined())</D:prop>"
    }
}
