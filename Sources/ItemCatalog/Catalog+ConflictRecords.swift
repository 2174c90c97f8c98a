package import FileProvider
import GRDB

/// Why two versions of something were kept.
package enum ConflictReason: String, Sendable, CaseIterable {
    case bothChanged, bothMade, nameTaken, replacedWhileWritten, editedMeanwhile, powerLoss

    /// For people.
    package var text: String {
        switch self {
        case .bothChanged: "the document was changed here and in the store"
        case .bothMade: "something of this name was made here and in the store"
        case .nameTaken: "one side moved it to a name that the other side gave to something else"
        case .replacedWhileWritten: "the store replaced the document while a program here was writing it"
        case .editedMeanwhile: "the document was changed while a program here was editing it"
        case .powerLoss: "the machine went off before what was written here was safe on its disk: it may be damaged"
        }
    }
}

/// Two versions that were both kept, until a person has looked at them.
package struct ConflictRecord: Sendable, Equatable {
    package var id: Int64
    /// What has the name.
    package var original: ItemID
    /// The conflicted copy, whatever it is called by now.
    package var copy: InodeID
    package var moment: FileTime
    package var reason: ConflictReason
}

/// Table `conflict`. A row goes with its original or its copy; one whose original or copy is only on its way out
/// (a deletion that is not in the store yet) is not shown.
extension Catalog.Reader {
    private static let shown = """
        FROM conflict c JOIN item o ON o.id = c.original JOIN inode oi ON oi.id = o.inode
        JOIN inode ci ON ci.id = c.copy
        WHERE o.local_parent IS NOT NULL AND oi.nlink > 0 AND ci.nlink > 0 AND oi.id <> ci.id
        """

    /// Every conflict that nobody has resolved, the oldest first.
    package func conflicts() throws -> [ConflictRecord] { try conflicts("") }

    private func conflicts(
        _ condition: String, _ arguments: StatementArguments = StatementArguments()
    ) throws -> [ConflictRecord] {
        let statement = try db.cachedStatement(
            sql: "SELECT c.id, c.original, c.copy, c.moment, c.reason \(Self.shown) \(condition) ORDER BY c.id")
        return try Row.fetchAll(statement, arguments: arguments).map { row in
            ConflictRecord(
                id: row[0], original: ItemID(rawValue: row[1]), copy: InodeID(rawValue: row[2]),
                moment: FileTime(nanoseconds: row[3]), reason: ConflictReason(rawValue: row[4]) ?? .bothChanged)
        }
    }

    package func conflictCount() throws -> Int {
        try Int.fetchOne(db, sql: "SELECT COUNT(*) \(Self.shown)") ?? 0
    }

    /// Those that this inode is the original or the copy of.
    package func conflicts(of inode: InodeID) throws -> [ConflictRecord] {
        let item = try item(of: inode)?.id
        return try conflicts("AND (c.copy = ? OR c.original = ?)", [inode.rawValue, item?.rawValue])
    }
}

extension Catalog.Writer {
    /// Both were kept. Without an original nobody can be asked which one is to stay.
    func recordConflict(original: ItemID?, copy: InodeID?, _ reason: ConflictReason) throws {
        guard let original, let copy else { return }
        try db.cachedStatement(sql: "DELETE FROM conflict WHERE original = ? AND copy = ?")
            .execute(arguments: [original.rawValue, copy.rawValue])
        try db.cachedStatement(sql: "INSERT INTO conflict (original, copy, moment, reason) VALUES (?, ?, ?, ?)")
            .execute(arguments: [original.rawValue, copy.rawValue, now.nanoseconds, reason.rawValue])
    }

    /// A program has kept both.
    ///
    /// - Throws: ``CatalogError/Code/notPermitted`` when they cannot be versions of each other.
    package func noteConflict(original: InodeID, copy: InodeID) throws {
        let both = [try inode(original), try inode(copy)]
        guard original != copy, both.allSatisfy({ $0.kind == .document || $0.isFolder }),
            let item = try item(of: original)?.id
        else {
            throw CatalogError(.notPermitted, "only documents, and folders that are one, have versions")
        }
        try recordConflict(original: item, copy: copy, .editedMeanwhile)
    }

    /// A document went over to another inode (a save): if it is a conflicted copy it still is.
    func moveConflicts(from old: InodeID, to new: InodeID) throws {
        try db.cachedStatement(sql: "UPDATE conflict SET copy = ? WHERE copy = ?")
            .execute(arguments: [new.rawValue, old.rawValue])
    }

    /// `hydrant resolve --keep both`: only that there was a conflict is forgotten.
    package func forgetConflict(_ id: Int64) throws {
        try db.execute(sql: "DELETE FROM conflict WHERE id = ?", arguments: [id])
    }

    // MARK: What goes after something else

    /// A conflicted copy whose bytes became the original's goes from the store when they are there, not before: were
    /// they refused, or this machine lost, the store would have neither. (Kept as a row of this table whose copy is no
    /// inode but, negative, the item that is to go.)
    func delayDeletion(of item: ItemID, until original: ItemID) throws {
        try db.execute(
            sql: "INSERT INTO conflict (original, copy, moment, reason) VALUES (?, ?, ?, 'resolved')",
            arguments: [original.rawValue, -item.rawValue, now.nanoseconds])
    }

    /// The bytes that are to be in the store first have gone over to another item.
    func moveDelayedDeletions(from old: ItemID, to new: ItemID) throws {
        try db.cachedStatement(sql: "UPDATE conflict SET original = ? WHERE original = ? AND copy < 0")
            .execute(arguments: [new.rawValue, old.rawValue])
    }

    /// The bytes that are to be in the store first never will be: what the store has of them stays there.
    func takeBackDelayedDeletions(for original: ItemID, defaults: PlaceholderDefaults) throws {
        let waiting = try Int64.fetchAll(
            db, sql: "SELECT -copy FROM conflict WHERE original = ? AND copy < 0", arguments: [original.rawValue])
        for id in waiting { try takeBackDeletion(ItemID(rawValue: id), current: nil, defaults: defaults) }
        try db.execute(sql: "DELETE FROM conflict WHERE original = ? AND copy < 0", arguments: [original.rawValue])
    }

    /// Of a deleted item there is nothing to be asked any more.
    func forgetConflicts(of item: ItemID) throws {
        try db.cachedStatement(sql: "DELETE FROM conflict WHERE original = ? OR copy = ?")
            .execute(arguments: [item.rawValue, -item.rawValue])
    }

    /// The same for an inode that is gone.
    func forgetConflicts(ofCopy inode: InodeID) throws {
        try db.cachedStatement(
            sql: "DELETE FROM conflict WHERE copy = ? AND NOT EXISTS (SELECT 1 FROM inode WHERE id = conflict.copy)"
        ).execute(arguments: [inode.rawValue])
    }
}
