import GRDB
package import Trees

/// Owner and mode where the store keeps none; set per mount.
extension Catalog.Writer {
    private static let key = "dress"

    /// Replaces the defaults of the previous mount by those of this mount. An owner or mode that a program has set
    /// stays, and so does a mode from the store.
    ///
    /// - Parameter before: the defaults of the previous mount, in case it did not record them.
    package func applyDefaults(_ defaults: PlaceholderDefaults, before: PlaceholderDefaults) throws {
        let old = try note(Self.key).flatMap { PlaceholderDefaults(text: $0) } ?? before
        try takeNote(Self.key, defaults.text)
        // As chown(2) does: a setuid bit set by one user must not give away the next user's rights.
        for (owner, from, to) in [("uid", old.uid, defaults.uid), ("gid", old.gid, defaults.gid)] where from != to {
            try db.execute(
                sql: "UPDATE inode SET mode = mode & ~3072 WHERE mode & 3072 AND kind <> 1 AND \(owner) = ?",
                arguments: [from])
        }
        if old.uid != defaults.uid {
            try db.execute(sql: "UPDATE inode SET uid = ? WHERE uid = ?", arguments: [defaults.uid, old.uid])
        }
        if old.gid != defaults.gid {
            try db.execute(sql: "UPDATE inode SET gid = ? WHERE gid = ?", arguments: [defaults.gid, old.gid])
        }
        for (kind, from, to) in [
            (0, old.documentMode, defaults.documentMode), (1, old.folderMode, defaults.folderMode),
        ] where from != to {
            try db.execute(
                sql: """
                    UPDATE inode SET mode = ? WHERE mode = ? AND kind = ? AND id IN (
                        SELECT inode FROM item
                        WHERE inode IS NOT NULL AND remote_parent IS NOT NULL AND remote_mode IS NULL
                            AND local_metadata = 0)
                    """, arguments: [to, from, kind])
        }
    }
}

extension PlaceholderDefaults {
    fileprivate var text: String { "\(uid):\(gid):\(documentMode):\(folderMode)" }

    fileprivate init?(text: String) {
        let numbers = text.split(separator: ":").compactMap { UInt32($0) }
        guard numbers.count == 4 else { return nil }
        self.init(uid: numbers[0], gid: numbers[1], documentMode: numbers[2], folderMode: numbers[3])
    }
}
