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

/// Why one entry of a listing cannot be shown, for people.
struct BadEntry: Error, CustomStringConvertible {
    let name: Filename
    let reason: String
    var description: String { "“\(name)”: \(reason)" }

    init(_ response: DAVResponse, _ reason: String) {
        let last = response.href.utf8.split(separator: UInt8(ascii: "/")).last ?? response.href.utf8[...]
        name = Filename(bytes: PercentCoding.decode(last) ?? Array(last))
        self.reason = reason
    }
}

extension DAVResource {
    /// - Parameters:
    ///   - server: what `href` is seen from.
    ///   - host: as the server calls itself, where that is another name.
    init(_ response: DAVResponse, on server: HTTPLocation, named host: String) throws(BadEntry) {
        guard let location = server.resolve(response.href) else {
            throw BadEntry(response, "its address is no percent-encoded path")
        }
        guard [server.origin.host, host].contains(location.origin.host) else {
            throw BadEntry(response, "its address is on another server, \(location.origin)")
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
        let text = properties[.contentLength] ?? ""
        if text.isEmpty { throw BadEntry(response, "the server does not say its size") }
        guard let size = Int64(text) else { throw BadEntry(response, "its size is no number") }
        if size < 0 { throw BadEntry(response, "its size is negative") }
        self.size = size
        let tag = properties[.entityTag].flatMap { Validator(tag: $0) }
        let checksum =
            properties[.checksums].flatMap { ContentChecksum.best($0) }
            ?? (properties[.fileID] == nil ? nil : ContentChecksum.size(size))
        validator = tag?.with(checksum: checksum) ?? .dateAndSize(modified, size)
    }
}
