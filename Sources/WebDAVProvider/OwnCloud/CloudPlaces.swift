import HTTPTransport

/// Where ownCloud and Nextcloud have what belongs to a user's documents: beside `…/remote.php/dav/files/USER/`.
///
/// Source: docs.nextcloud.com, developer manual, WebDAV: chunked upload, trash.
struct CloudPlaces: Sendable, Equatable {
    /// Takes parts of documents.
    var uploads: HTTPLocation
    var trash: HTTPLocation
    /// Answers searches, below it.
    var service: HTTPLocation
    /// What is searched: all that is the user's.
    var scope: String

    /// - Parameter root: the folder that is mounted; nil: it is reached by another way (`…/remote.php/webdav/`, a public link),
    ///   which does not say whose it is.
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
        let user = components[files + 1]
        uploads = place([Array("uploads".utf8), user])
        trash = place([Array("trashbin".utf8), user, Array("trash".utf8)])
        service = place([])
        let own = place([Array("files".utf8), user])
        scope = String(own.path.dropFirst(service.path.count - 1))
    }
}
