/// What is known of a server, from its answers to OPTIONS and to a first look at the folder.
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
    /// Class 2 of RFC 4918; whether they hold, ``ServerHabits`` finds out.
    var hasLocks = false

    /// Of ownCloud and Nextcloud: where parts of documents go, and what was deleted.
    var cloud: CloudPlaces?
    /// What is deleted can be had back.
    var hasTrash = false

    /// Where a PUT is put in its place at its end, whole, and a MOVE over a document would make another one of it.
    ///
    /// Elsewhere contents are sent as a new document, which is then moved over the old one: many servers write into the
    /// document itself while the bytes come, and Apache looks at a condition only before they come: what somebody else
    /// changes in the meantime would be overwritten unseen.
    var replacesAtOnce: Bool { family == .ownCloud }
    /// Who holds the lock of a folder is the only one who puts documents into it; others have locks that do not keep that
    /// (rclone).
    var locksFolders: Bool { family == .apache && hasLocks }
    /// Taken or given back at the same time, they get lost; see ``FolderTurns``.
    var mixesLocksUp: Bool { family == .apache }
    /// In bytes: up to here a document is sent to its own place under a lock, which must not be held for long.
    var mostUnderLock: Int64 { family == .apache && hasLocks ? 256 << 10 : -1 }
    /// Of a PUT with a Content-Range that breaks off, what has come is kept.
    var keepsPartOfUploads: Bool { family == .apache }
    /// The condition of a MOVE on what it replaces is kept, and a document that is moved keeps its version. Others ignore
    /// conditions (WsgiDAV), or refuse whatever has one (rclone): there what is to be replaced is looked at right before.
    var checksTargets: Bool { family == .apache }
}
