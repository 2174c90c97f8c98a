import FileProvider
import Foundation
import GRDB
package import Trees

/// Finds documents by words of their text, if their text was added. A separate file that can be rebuilt from the
/// documents on this machine.
///
/// Each time the index is opened it is compared with the catalog, so it may lose the latest texts in a power loss.
///
/// Source: sqlite.org/fts5.html: 4.4.3 (contentless tables: deleting a row needs its text. So a changed document gets a
/// new row and the old row means nothing any more; when most rows are old the index is rebuilt), 4.5 (detail=none:
/// which words a text has, not where), 4.3.1 (unicode61: vowel signs, which are part of words in Hindi and Arabic, are
/// marks).
package final class TextIndex: Sendable {
    /// The state of the document that a text was taken from; when it differs, the text is taken again.
    package struct Stamp: Sendable, Equatable {
        package var generation: Int64
        package var size: Int64
        package var modified: Int64

        package init(_ inode: InodeRecord) {
            (generation, size, modified) = (inode.generation, inode.size, inode.modified.nanoseconds)
        }

        fileprivate init(_ row: Row) { (generation, size, modified) = (row[0], row[1], row[2]) }
    }

    private let database: DatabasePool
    private let path: String
    /// The file's format; a file of another format is rebuilt.
    private static let format = "2"
    private static let words = ["unicode61", "remove_diacritics", "2", "categories", "L* N* M* Co"]
    /// This many old texts do no harm.
    private static let fewOld = 500

    /// - Parameter domain: the domain whose catalog numbered the inodes; texts of another domain are forgotten.
    package init(path: String, domain: String) throws(CatalogError) {
        self.path = path
        do {
            database = try Self.open(path, domain)
        } catch { throw Catalog.translate(error, path: path) }
    }

    private static func open(_ path: String, _ domain: String) throws -> DatabasePool {
        try IndexFile.open(path, label: "texts") { db in
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS mark (domain TEXT NOT NULL);
                    CREATE TABLE IF NOT EXISTS document (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        inode INTEGER NOT NULL UNIQUE,
                        generation INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
                        hasText INTEGER NOT NULL);
                    """)
            let known = try String.fetchOne(db, sql: "SELECT domain FROM mark")
            let mark = format + " " + domain
            if known == mark { return }
            guard known == nil else { throw CatalogError(.wrongDomain, "\(path): belongs to \(known!)") }
            try db.execute(sql: "INSERT INTO mark VALUES (?)", arguments: [mark])
            try makeTexts(db)
        }
    }

    private static func makeTexts(_ db: Database) throws {
        let words = words.map { "''\($0)''" }.joined(separator: " ")
        try db.execute(
            sql: """
                CREATE VIRTUAL TABLE texts USING fts5(
                    body, content = '', detail = none, columnsize = 0, tokenize = '\(words)')
                """)
    }

    /// Forgets all texts when most of them are of documents that have changed or are gone.
    ///
    /// - Returns: whether all texts must be added again.
    @discardableResult
    package func clearIfMostlyOld() throws(CatalogError) -> Bool {
        try translating {
            try database.write { db in
                // Each added document gets a number of its own, which is never reused.
                let all = try Int.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'document'") ?? 0
                let current = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM document") ?? 0
                guard all > 2 * current + Self.fewOld else { return false }
                try db.execute(sql: "DROP TABLE texts; DELETE FROM document; DELETE FROM sqlite_sequence")
                try Self.makeTexts(db)
                return true
            }
        }
    }

    /// The index must be closed.
    package static func remove(_ path: String) { IndexFile.remove(path) }

    package func close() { try? database.close() }

    // MARK: Documents

    /// The stamp of a document's text in the index; nil when the index has none.
    package func stamp(of inode: InodeID) throws(CatalogError) -> Stamp? {
        try translating {
            try database.read { db in
                try Row.fetchOne(
                    db.cachedStatement(sql: "SELECT generation, size, modified FROM document WHERE inode = ?"),
                    arguments: [inode.rawValue]
                ).map { Stamp($0) }
            }
        }
    }

    /// - Parameter text: nil: the document has no text, which is remembered as well.
    package func put(_ text: String?, of inode: InodeID, _ stamp: Stamp) throws(CatalogError) {
        try translating {
            try database.write { db in
                try db.execute(sql: "DELETE FROM document WHERE inode = ?", arguments: [inode.rawValue])
                try db.execute(
                    sql: "INSERT INTO document (inode, generation, size, modified, hasText) VALUES (?, ?, ?, ?, ?)",
                    arguments: [inode.rawValue, stamp.generation, stamp.size, stamp.modified, text != nil])
                guard let text else { return }
                try db.execute(
                    sql: "INSERT INTO texts (rowid, body) VALUES (?, ?)", arguments: [db.lastInsertedRowID, text])
            }
        }
    }

    package func forget(_ inode: InodeID) throws(CatalogError) {
        try translating {
            try database.write {
                try $0.execute(sql: "DELETE FROM document WHERE inode = ?", arguments: [inode.rawValue])
            }
        }
    }

    /// Documents in the index after `number`, in order.
    package func inodes(after number: Int64, limit: Int) throws(CatalogError) -> [InodeID] {
        try translating {
            try database.read { db in
                try Int64.fetchAll(
                    db, sql: "SELECT inode FROM document WHERE inode > ? ORDER BY inode LIMIT ?",
                    arguments: [number, limit]
                ).map { InodeID(rawValue: $0) }
            }
        }
    }

    /// The number of documents with a text in the index.
    package func count() throws(CatalogError) -> Int {
        try translating {
            try database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM document WHERE hasText <> 0") ?? 0 }
        }
    }

    private static let mostWords = 64

    /// Documents whose text has all words of `text`; a final `*` matches any ending of the last word.
    package func inodes(with text: String) throws(CatalogError) -> Set<InodeID> {
        return try translating {
            try database.read { db in
                // Tokenize like the indexed texts, so that both split words in the same way.
                let tokenizer = try db.makeTokenizer(FTS5TokenizerDescriptor(components: Self.words))
                let words = try tokenizer.tokenize(query: text).prefix(Self.mostWords).map { "\"\($0.token)\"" }
                if words.isEmpty { return [] }
                let match = words.joined(separator: " ") + (text.hasSuffix("*") ? "*" : "")
                let statement = try db.cachedStatement(
                    sql: "SELECT d.inode FROM texts t JOIN document d ON d.id = t.rowid WHERE texts MATCH ?")
                return Set(try Int64.fetchAll(statement, arguments: [match]).map { InodeID(rawValue: $0) })
            }
        }
    }

    private func translating<T>(_ body: () throws -> T) throws(CatalogError) -> T {
        do { return try body() } catch { throw Catalog.translate(error, path: path) }
    }
}
