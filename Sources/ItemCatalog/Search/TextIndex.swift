import FileProvider
import Foundation
import GRDB

/// Finds documents by words of their text, of those whose text somebody has put in. A file of its own; all of it can be made
/// again from the documents that are here.
///
/// Source: sqlite.org/fts5.html: 4.4.3 (contentless tables, from which a row cannot be taken without its text: a document that
/// changes gets a new row, and the old one means nothing any more), 4.5 (detail=none: which words a text has, not where).
package final class TextIndex: Sendable {
    /// What a text was taken from: with another one it is to be taken again.
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

    /// - Parameter domain: whose catalog gave the inodes their numbers: a text that stands for another domain's is forgotten.
    package init(path: String, domain: String) throws(CatalogError) {
        self.path = path
        do {
            do { database = try Self.open(path, domain) } catch {
                Self.remove(path)
                database = try Self.open(path, domain)
            }
        } catch { throw Catalog.translate(error, path: path) }
    }

    private static func open(_ path: String, _ domain: String) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "texts"
        configuration.maximumReaderCount = 3
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
            try db.execute(sql: "PRAGMA journal_size_limit = 4194304")
        }
        let database = try DatabasePool(path: path, configuration: configuration)
        do {
            try database.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE IF NOT EXISTS mark (domain TEXT NOT NULL);
                        CREATE TABLE IF NOT EXISTS document (
                            id INTEGER PRIMARY KEY AUTOINCREMENT,
                            inode INTEGER NOT NULL UNIQUE,
                            generation INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
                            hasText INTEGER NOT NULL);
                        CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(
                            body, content = '', detail = none, columnsize = 0,
                            tokenize = 'unicode61 remove_diacritics 2');
                        """)
                let known = try String.fetchOne(db, sql: "SELECT domain FROM mark")
                if known == domain { return }
                guard known == nil else { throw CatalogError(.wrongDomain, "\(path): is of \(known!)") }
                try db.execute(sql: "INSERT INTO mark VALUES (?)", arguments: [domain])
            }
        } catch {
            try? database.close()
            throw error
        }
        return database
    }

    /// Of one that is closed.
    package static func remove(_ path: String) { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }

    package func close() { try? database.close() }

    // MARK: Documents

    /// What the text that it has of a document was taken from; nil: it has none.
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

    /// - Parameter text: nil: none can be had of it, which is remembered as well.
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

    /// Of how many documents it has a text.
    package func count() throws(CatalogError) -> Int {
        try translating {
            try database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM document WHERE hasText <> 0") ?? 0 }
        }
    }

    /// Documents whose text has all words of this one, which ends with `*` where the last of them may go on.
    package func inodes(with text: String) throws(CatalogError) -> Set<InodeID> {
        let words = text.split { !$0.isLetter && !$0.isNumber }.prefix(64)
        guard !words.isEmpty else { return [] }
        let match = words.map { "\"\($0)\"" }.joined(separator: " ") + (text.hasSuffix("*") ? "*" : "")
        return try translating {
            try database.read { db in
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
