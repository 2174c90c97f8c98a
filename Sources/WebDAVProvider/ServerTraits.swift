/// Properties of a server, from its answers to OPTIONS and to the first look at the folder.
struct ServerTraits: Sendable, Equatable {
    enum Family: String, Sendable {
        /// Apache httpd, mod_dav_fs.
        case apache
        /// ownCloud and Nextcloud, which build on sabre/dav.
        case ownCloud
        case other
    }
    var family = Family.other
    /// Items have identifiers that the server keeps.
    var keepsIdentifiers = false
    /// Class 2 of RFC 4918; ``ServerHabits`` tests whether locks hold.
    var hasLocks = false

    /// On ownCloud and Nextcloud: the collections for parts of documents and for deleted items.
    var cloud: CloudPlaces?
    /// What a Nextcloud says of itself.
    var capabilities = CloudCapabilities()
    /// Deleted items can be restored.
    var hasTrash = false
    /// The user can mark items as favourites.
    var hasFavorites = false

    /// A PUT replaces the document at its end, completely, and a MOVE over a document would make another document of
    /// it.
    ///
    /// On other servers contents are uploaded as a new document, which is then moved over the old one: many servers
    /// write into the document itself while the bytes arrive, and Apache checks a condition only before they arrive, so
    /// a change by another client in the meantime would be overwritten unseen.
    var replacesAtOnce: Bool { family == .ownCloud }
    /// Only the holder of a folder's lock can put documents into it; the locks of other servers do not ensure that
    /// (rclone).
    var locksFolders: Bool { family == .apache && hasLocks }
    /// Locks taken or given back at the same time get lost; see ``FolderTurns``.
    var mixesLocksUp: Bool { family == .apache }
    /// In bytes: up to this size a document is sent to its own place under a lock, which must not be held for long.
    var mostUnderLock: Int64 { family == .apache && hasLocks ? 256 << 10 : -1 }
    /// When a PUT with a Content-Range breaks off, the bytes that have arrived are kept.
    var keepsPartOfUploads: Bool { family == .apache }
    /// A MOVE respects a condition on its target, and a moved document keeps its version. Other servers ignore
    /// conditions (WsgiDAV), or refuse every request that has one (rclone): there the target's version is checked right
    /// before.
    var checksTargets: Bool { family == .apache }
}
