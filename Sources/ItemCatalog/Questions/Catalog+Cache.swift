package import FileProvider
import GRDB
package import Trees

/// A downloaded document that can be evicted.
package struct EvictionCandidate: Sendable, Equatable {
    package var inode: InodeID
    /// When a program last closed the document.
    package var used: FileTime
    /// In bytes.
    package var here: Int64
}

/// The size of the bytes on this machine, and the least recently used documents.
extension Catalog.Reader {
    /// In bytes: the most that one document counts for, and that all documents count for. A catalog may hold any file
    /// size: SUM throws when an integer overflows, TOTAL never does.
    private static let (most, mostOfAll): (Int64, Int64) = (Item.largestSize, 1 << 62)
    private static let total = "CAST(MIN(TOTAL(MIN(here, \(most))), \(mostOfAll)) AS INTEGER)"

    /// The number of document bytes on this machine, including modified and pinned documents; at most 2⁶².
    package func bytesHere() throws -> Int64 {
        let statement = try db.cachedStatement(sql: "SELECT \(Self.total) FROM inode WHERE kind = 0 AND here > 0")
        return try Int64.fetchOne(statement) ?? 0
    }

    /// Unmodified documents with bytes on this machine, least recently used first; at most `limit` of those after
    /// `last`. Excluded documents and documents with a pin of their own are left out; documents in pinned folders are
    /// not.
    package func evictionCandidates(after last: EvictionCandidate?, limit: Int) throws -> [EvictionCandidate] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT i.id, i.used, MIN(i.here, \(Self.most)) FROM inode i CROSS JOIN item t ON t.inode = i.id
                WHERE i.kind = 0 AND i.here > 0 AND (i.used, i.id) > (?, ?) AND i.writing = 0
                    AND t.pending = 0 AND t.excluded = 0 AND t.pinned = 0 AND t.identifier IS NOT NULL
                    AND t.held_at IS NULL
                ORDER BY i.used, i.id LIMIT ?
                """)
        return try Row.fetchAll(
            statement,
            arguments: [last?.used.nanoseconds ?? .min, last?.inode.rawValue ?? .min, limit]
        ).map(Self.candidate)
    }

    /// How many bytes could be evicted if nobody used them; at most 2⁶².
    package func evictableBytes() throws -> Int64 {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(Self.total) FROM inode i CROSS JOIN item t ON t.inode = i.id
                WHERE i.kind = 0 AND i.here > 0 AND i.writing = 0 AND t.pending = 0 AND t.excluded = 0
                    AND t.pinned = 0 AND t.identifier IS NOT NULL AND t.held_at IS NULL
                """)
        return try Int64.fetchOne(statement) ?? 0
    }

    /// Documents with more than `bytes` on this machine.
    package func documentsHere(above bytes: Int64) throws -> [EvictionCandidate] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT id, used, MIN(here, \(Self.most)) FROM inode WHERE kind = 0 AND here > 0 AND here > ?
                ORDER BY used, id
                """)
        return try Row.fetchAll(statement, arguments: [bytes]).map(Self.candidate)
    }

    private static func candidate(_ row: Row) -> EvictionCandidate {
        EvictionCandidate(
            inode: InodeID(rawValue: row[0]), used: FileTime(nanoseconds: row[1]), here: row[2])
    }
}

extension Catalog.Writer {
    /// Records when programs last closed these documents.
    package func recordUse(_ moments: [InodeID: FileTime]) throws {
        if try isUsedAhead(of: now) { try takeBackUse() }
        let statement = try db.cachedStatement(sql: "UPDATE inode SET used = MAX(used, ?) WHERE id = ?")
        for (inode, moment) in moments { try statement.execute(arguments: [moment.nanoseconds, inode.rawValue]) }
    }
}
