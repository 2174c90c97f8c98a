import HTTPTransport

/// The other collections of a user on ownCloud and Nextcloud, beside `…/remote.php/dav/files/USER/`.
///
/// Source: docs.nextcloud.com, developer manual, WebDAV: chunked upload, trash.
struct CloudPlaces: Sendable, Equatable {
    /// For parts of documents.
    var uploads: HTTPLocation
    var trash: HTTPLocation
    /// For searches; the parent of the others.
    var service: HTTPLocation
    /// The user's identifier, as the URLs have it.
    var user: [UInt8]
    /// The scope of searches: all of the user's documents.
    var scope: String

    /// - Parameter root: the mounted folder. The result is nil when its URL is of another form (`…/remote.php/webdav/`,
    ///   a public link), which does not name the user.
    init?(root: HTTPLocation) {
        let components = root.components
        guard
            let files = components.indices.first(where: { index in
                index > 0 && components[index] == Array("files".utf8) && components[index - 1] == Array("dav".utf8)
                    && index + 1 < components.count
            })
        else { return nil }
        func place(_ names: [[UInt8]]) -> HTTPLocation {
            HTTPLocation(origin: root.origin, components: components[..<files] + names, isFolder: true)
        }
        user = components[files + 1]
        uploads = place([Array("uploads".utf8), user])
        trash = place([Array("trashbin".utf8), user, Array("trash".utf8)])
        service = place([])
        let own = place([Array("files".utf8), user])
        scope = String(own.path.dropFirst(service.path.count - 1))
    }
}
