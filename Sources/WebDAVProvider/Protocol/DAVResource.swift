import FileProvider
import HTTPTransport

/// A document or folder, as the server reports it.
struct DAVResource: Sendable {
    /// Its URL, as the server wrote it.
    var location: HTTPLocation
    var isFolder: Bool
    /// In bytes; 0 for a folder.
    var size: Int64
    /// Seconds since 1970.
    var modified: Int64
    /// For a document.
    var validator: Validator
    /// An identifier that the server keeps.
    var identifier: String?
    /// Nextcloud's letters for the operations that this user may do; nil: all, as far as known.
    var permissions: String?
    /// What the share that the item is in allows, as bits; nil: it is in no share, or the server does not say.
    var sharePermissions: Int?
    /// The topmost folder of another storage.
    var isMountRoot = false
    var isFavorite = false
    var tags: [String] = []
    /// On Nextcloud: a lock that keeps us from changing it.
    var lock: CloudLock?
}

/// Why an entry of a listing cannot be shown, for people.
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
    ///   - server: the base of a relative `href`.
    ///   - host: the server's own name for itself, if it is another one.
    init(_ response: DAVResponse, on server: HTTPLocation, named host: String) throws(BadEntry) {
        guard let location = server.resolve(response.href) else {
            throw BadEntry(response, "its address is not a percent-encoded path")
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
        if permissions?.contains("S") == true { sharePermissions = properties[.sharePermissions].flatMap { Int($0) } }
        isMountRoot = properties[.isMountRoot] == "true"
        isFavorite = properties[.favorite] == "1"
        tags = [DAVProperty.ownTags, .systemTags].flatMap { list in
            (properties[list] ?? "").split(separator: "\n").map { String($0).trimmingASCIIWhitespace() }
        }
        lock = CloudLock(properties, at: self.location)
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
        guard let size = Int64(text) else { throw BadEntry(response, "its size is not a number") }
        if size < 0 { throw BadEntry(response, "its size is negative") }
        self.size = size
        let tag = properties[.entityTag].flatMap { Validator(tag: $0) }
        let checksum =
            properties[.checksums].flatMap { ContentChecksum.best($0) }
            ?? (properties[.fileID] == nil ? nil : ContentChecksum.size(size))
        validator = tag?.with(checksum: checksum) ?? .dateAndSize(modified, size)
    }
}
