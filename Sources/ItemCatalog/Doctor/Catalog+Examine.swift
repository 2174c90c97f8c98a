import FileProvider
import Foundation
import GRDB
package import Trees

/// The rules that hold between any two transactions, each checked for the whole catalog. Takes seconds for a million
/// rows.
extension Catalog.Reader {
    /// All violations of the rules; empty when there are none.
    package func examine() throws -> [CatalogFinding] {
        var findings = try examineDatabase()
        // A damaged file may give nonsense; check the other rules all the same, as far as possible.
        for rule in [
            examineLinks, examineFolders, examineNames, examineReachability, examinePlaces, examineItems,
            examineExtents,
        ] {
            do { findings += try rule() } catch let error as DatabaseError {
                findings.append(
                    CatalogFinding(rule: .database, place: "catalog", what: error.message ?? "\(error.resultCode)"))
            }
        }
        return findings
    }

    private func examineDatabase() throws -> [CatalogFinding] {
        var findings = try String.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0 != "ok" }.map {
            CatalogFinding(rule: .database, place: "catalog", what: $0)
        }
        for row in try Row.fetchAll(db, sql: "PRAGMA foreign_key_check") {
            let (table, id, parent) = (row[0] as String, row[1] as Int64?, row[2] as String)
            findings.append(
                CatalogFinding(
                    rule: .reference, place: "\(table) \(id.map(String.init) ?? "")",
                    what: "refers to a row of \(parent) that is not there"))
        }
        return findings
    }

    private func examineLinks() throws -> [CatalogFinding] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT i.id, i.nlink, COUNT(n.id) FROM inode i LEFT JOIN name n ON n.inode = i.id
                WHERE i.kind <> 1 GROUP BY i.id HAVING i.nlink <> COUNT(n.id)
                """
        ).map { row in
            let (inode, count) = (InodeID(rawValue: row[0]), row[2] as Int64)
            return CatalogFinding(
                rule: .linkCount, place: try shown(inode),
                what: "has \(count) names and a link count of \(row[1] as Int64)",
                // Without a name, the next mount would remove the inode and its bytes.
                repair: count > 0 ? .setLinkCount(inode, count) : nil)
        }
    }

    private func examineFolders() throws -> [CatalogFinding] {
        var findings = try Row.fetchAll(
            db,
            sql: """
                SELECT i.id, i.nlink, (SELECT COUNT(*) FROM name n JOIN inode c ON c.id = n.inode
                    WHERE n.folder = i.id AND c.kind = 1) AS inside
                FROM inode i WHERE i.kind = 1 AND i.nlink > 0 AND i.nlink <> inside + 2
                """
        ).map { row in
            let (inode, count) = (InodeID(rawValue: row[0]), (row[2] as Int64) + 2)
            return CatalogFinding(
                rule: .folderLinkCount, place: try shown(inode),
                what: "has a link count of \(row[1] as Int64), and \(count - 2) folders in it",
                repair: .setLinkCount(inode, count))
        }
        findings += try Row.fetchAll(
            db,
            sql: """
                SELECT i.id, i.nlink, COUNT(n.id) FROM inode i LEFT JOIN name n ON n.inode = i.id
                WHERE i.kind = 1 AND i.id <> 1 GROUP BY i.id HAVING COUNT(n.id) <> (i.nlink > 0)
                UNION ALL SELECT 1, nlink, 1 FROM inode WHERE id = 1 AND EXISTS (SELECT 1 FROM name WHERE inode = 1)
                """
        ).map { row in
            CatalogFinding(
                rule: .folderNames, place: try shown(InodeID(rawValue: row[0])),
                what: row[1] as Int64 == 0
                    ? "has been removed, but has \(row[2] as Int64) names" : "has \(row[2] as Int64) names")
        }
        return findings
    }

    private func examineNames() throws -> [CatalogFinding] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT n.folder, n.name, n.inode, f.kind = 1 AND f.nlink > 0, i.id IS NULL
                FROM name n LEFT JOIN inode f ON f.id = n.folder LEFT JOIN inode i ON i.id = n.inode
                WHERE f.id IS NULL OR f.kind <> 1 OR f.nlink = 0 OR i.id IS NULL
                """
        ).map { row in
            let name = Filename(bytes: row.bytes(1) ?? [])
            let folder = InodeID(rawValue: row[0])
            if row[3] as Bool? != true {
                return CatalogFinding(
                    rule: .nameWithoutFolder, place: "\(name) (inode \(row[2] as Int64))",
                    what: "is in \(folder), which is not a folder or is gone")
            }
            return CatalogFinding(
                rule: .nameWithoutInode, place: "\(try shown(folder))/\(name)",
                what: "refers to inode \(row[2] as Int64), which does not exist")
        }
    }

    private func examineReachability() throws -> [CatalogFinding] {
        // UNION, not UNION ALL, so that the recursion ends in a cycle too.
        try Row.fetchAll(
            db,
            sql: """
                WITH RECURSIVE seen(id) AS (SELECT 1 UNION SELECT n.inode FROM name n JOIN seen s ON n.folder = s.id)
                SELECT i.id FROM inode i WHERE i.nlink > 0 AND i.id NOT IN (SELECT id FROM seen)
                    AND EXISTS (SELECT 1 FROM name n WHERE n.inode = i.id)
                """
        ).map { row in
            let inode = InodeID(rawValue: row[0])
            let names = try places(of: inode).map { "\($0.name) in \($0.folder)" }.joined(separator: ", ")
            return CatalogFinding(
                rule: .unreachable, place: inode.description,
                what: "\(names): the folders above do not lead to the root")
        }
    }

    private func examinePlaces() throws -> [CatalogFinding] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT t.id, t.local_name, t.inode, p.inode, p.id IS NULL FROM item t
                LEFT JOIN item p ON p.id = t.local_parent
                WHERE t.id <> 1 AND (t.local_parent IS NOT NULL OR t.inode IS NOT NULL) AND NOT (
                    t.local_parent IS NOT NULL AND t.inode IS NOT NULL AND EXISTS (
                        SELECT 1 FROM name n WHERE n.folder = p.inode AND n.name = t.local_name AND n.inode = t.inode))
                """
        ).map { row in
            let name = row.bytes(1).map { Filename(bytes: $0).string } ?? "no name"
            let inode = (row[2] as Int64?).map { InodeID(rawValue: $0) }
            let what =
                if row[4] as Bool, row.bytes(1) != nil {
                    "is in a folder that has no item"
                } else if inode == nil {
                    "has a name and no inode"
                } else {
                    "has a name that its inode does not have"
                }
            return CatalogFinding(
                rule: .itemPlace, place: "item \(row[0] as Int64) (\(name)), \(try inode.map(shown) ?? "no inode")",
                what: what)
        }
    }

    private func examineItems() throws -> [CatalogFinding] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT i.id FROM inode i LEFT JOIN item t ON t.inode = i.id
                WHERE i.kind <= 2 AND i.nlink > 0 AND t.id IS NULL
                """
        ).map { row in
            CatalogFinding(
                rule: .inodeWithoutItem, place: try shown(InodeID(rawValue: row[0])), what: "has no item")
        }
    }

    private func examineExtents() throws -> [CatalogFinding] {
        var findings: [CatalogFinding] = []
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT id, size, base_size, extents FROM inode
                WHERE kind = 0 AND (extents IS NOT NULL OR base_size > size OR base_size < 0 OR size < 0)
                """)
        while let row = try rows.next() {
            let (size, baseSize) = (row[1] as Int64, row[2] as Int64)
            var problem: String?
            if size < 0 || baseSize < 0 || baseSize > size {
                problem = "has \(size) bytes, of which \(baseSize) come from the store"
            } else if let blob = row.bytes(3) {
                let ranges = RangeSet<Int64>(blob: blob)
                // Ranges that are out of order or overlap do not survive the round trip.
                if ranges.blob != blob {
                    problem = "has a list of ranges that cannot be read"
                } else if let last = ranges.ranges.last, last.upperBound > baseSize || ranges.ranges[0].lowerBound < 0 {
                    problem = "has local bytes up to \(last.upperBound), but only \(baseSize) bytes come from the store"
                }
            }
            if let problem {
                findings.append(
                    CatalogFinding(rule: .extents, place: try shown(InodeID(rawValue: row[0])), what: problem))
            }
        }
        return findings
    }

    /// The path for people, or else the number.
    package func shown(_ inode: InodeID) throws -> String {
        if inode == .root { return "/" }
        guard let names = try path(of: inode) else { return inode.description }
        return "/" + names.map(\.string).joined(separator: "/") + " (\(inode))"
    }
}
