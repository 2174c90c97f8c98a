import FileProvider
import HTTPTransport

/// What a server says of one document or folder.
struct DAVResource: Sendable {
    /// Where it is, as the server wrote it.
    var location: HTTPLocation
    var isFolder: Bool
    /// In bytes; of a folder 0.
    var size: Int64
    /// Seconds since 1970.
    var modified: Int64
    /// Of a document.
    var validator: Validator
    /// An identifier that the server keeps.
    var identifier: String?
    /// Nextcloud's letters for what this user may do; nil: everything, as far as is known.
    var permissions: String?
}

extension DAVResource {
    /// - Parameter server: what `href` is seen from.
    /// - Throws: why it cannot be taken.
    init(_ response: DAVResponse, on server: HTTPLocation) throws(BadXML) {
        guard let location = server.resolve(response.href) else { throw BadXML("“\(response.href)” is no place") }
        guard location.origin.host == server.origin.host || response.href.hasPrefix("/") else {
            throw BadXML("“\(response.href)” is on another server")
        }
        self.location = HTTPLocation(
            origin: server.origin, components: location.components, isFolder: response.isFolder)
        isFolder = response.isFolder
        let properties = response.properties
        modified = properties[.lastModified].flatMap(HTTPDate.parse) ?? 0
        permissions = properties[.permissions]
        identifier =
            properties[.fileID].flatMap { $0.isEmpty ? nil : "f:" + $0 }
            ?? properties[.resourceID].flatMap { $0.isEmpty ? nil : "r:" + $0 }
        guard !isFolder else {
            size = 0
            validator = .tag("folder")
            return
        }
        guard let size = properties[.contentLength].flatMap({ Int64($0) }), size >= 0 else {
            throw BadXML("“\(response.href)” has no size")
        }
        self.size = size
        let tag = properties[.entityTag].flatMap { Validator(tag: $0) }
        let checksum =
            properties[.checksums].flatMap { ContentChecksum.best($0) }
            ?? (properties[.fileID] == nil ? nil : ContentChecksum.size(size))
        validator = tag?.with(checksum: checksum) ?? .dateAndSize(modified, size)
    }
}
