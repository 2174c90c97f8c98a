import HTTPTransport

/// The other collections of a user on ownCloud and Nextcloud, beside `…/remote.php/dav/files/USER/`.
///
/// Source: docs.nextcloud.com, developer manual, WebDAV: chunked upload, trash.
struct CloudPlaces: Sendable, Equatable {
    /// For parts of documents.
    var uploads: HTTPLocation
    var trash: HTTPLocation
    /// For what documents were before, by their numbers.
    var versions: HTTPLocation
    /// What is moved here goes back to where it was.
    var restored: HTTPLocation
    /// For searches; the parent of the others.
    var service: HTTPLocation
    /// The user's identifier, as the URLs have it.
    var user: [UInt8]
    /// The scope of searches: all of the user's documents.
    var scope: String
    /// The user's topmost folder; the mounted one may be in it.
    var files: HTTPLocation

    private static let beforeUser = ["remote.php", "dav", "files"].map { Array($0.utf8) }

    /// - Parameter root: the mounted folder. The result is nil when its URL is of another form (`…/remote.php/webdav/`,
    ///   a public link as `…/public.php/dav/files/TOKEN/`), which does not name the user.
    init?(root: HTTPLocation) {
        let components = root.components
        guard
            let files = components.indices.first(where: { index in
                index >= 2 && index + 1 < components.count
                    && components[(index - 2)...index].elementsEqual(Self.beforeUser)
            })
        else { return nil }
        func place(_ names: [[UInt8]]) -> HTTPLocation {
            HTTPLocation(origin: root.origin, components: components[..<files] + names, isFolder: true)
        }
        user = components[files + 1]
        uploads = place([Array("uploads".utf8), user])
        trash = place([Array("trashbin".utf8), user, Array("trash".utf8)])
        versions = place([Array("versions".utf8), user, Array("versions".utf8)])
        restored = place([Array("trashbin".utf8), user, Array("restore".utf8)])
        service = place([])
        let own = place([Array("files".utf8), user])
        self.files = own
        scope = String(own.path.dropFirst(service.path.count - 1))
    }

    /// From the user's topmost folder on; nil: not in it.
    func path(of location: HTTPLocation) -> String? {
        location.components(below: files).map {
            "/" + $0.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
        }
    }

    /// A place of the server beside `remote.php`.
    func page(_ names: [String], query: String? = nil) -> HTTPLocation {
        HTTPLocation(
            origin: service.origin, components: service.components.dropLast(2) + names.map { Array($0.utf8) },
            isFolder: false, query: query)
    }
}
