import GRDB
package import Trees

/// Who owns what the store names no owner of is said at the mount, and may be another one at each.
extension Catalog.Writer {
    private static let key = "dress"

    /// What wears the defaults of the mount before gets those of this one; what programs have given another owner or mode
    /// keeps it, and so does what the store has a mode of.
    ///
    /// - Parameter before: the defaults of the mount before, should it not have written them down.
    package func applyDefaults(_ defaults: PlaceholderDefaults, before: PlaceholderDefaults) throws {
        let old = try note(Self.key).flatMap { PlaceholderDefaults(text: $0) } ?? before
        try takeNote(Self.key, defaults.text)
        // As chown(2) does: what one user made setuid gives nobody the next one's rights.
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
