import FileProvider
import Foundation
import GRDB
import Locking
package import Trees

/// Finds names by a part of them: trigrams of all names (FTS5), in a separate file beside the catalog.
///
/// The index may lag behind the catalog but never changes a result: programs that make or change names do not wait for
/// it. It covers a range of name numbers. New names have numbers outside the range, at either end, and are scanned one
/// by one until ``grow()`` has added them. A name that changes keeps its number, and is noted in the catalog's
/// transaction (`moved_name`) until the index is up to date. A removed name stays in the index until it is rebuilt; its
/// number finds nothing in the catalog.
///
/// The index can be rebuilt from the catalog: a damaged index, or one of another catalog, is removed. In a power loss
/// the index and the catalog may each lose their last changes, so that one has a name that the other lacks: then the
/// index is rebuilt (``Catalog/Writer/distrustNameIndex()``).
///
/// Source: sqlite.org/fts5.html, 4.3.4 (trigram) and 4.5 (detail=none: only which name has which trigrams).
package final class NameIndex: Sendable {
    private let catalog: Catalog
    private let path: String
    private let opened: AdaptiveMutex<DatabasePool>
    private let fold: @Sendable ([UInt8]) -> String
    /// Serializes growing.
    private let turn = NSLock()
    private let state = AdaptiveMutex(State())

    private struct State {
        var range: ClosedRange<Int64>?
        /// How many numbers were found whose names are gone from the catalog.
        var gone = 0
        /// The index could not be read: it is removed and rebuilt.
        var isBroken = false
    }

    /// The shortest text that the index can find, in Unicode scalars.
    package static let shortest = 3
    /// The rarest trigrams of a text, at most this many, are looked up. More would rule out hardly any further names,
    /// and each costs a scan of all names that have it.
    private static let mostTrigrams = 3
    /// A trigram with no more names than this is enough: checking these names is cheaper than looking up another
    /// trigram.
    private static let fewNames = 2_000
    /// How many names one step adds: some tenths of a second, and a few megabytes.
    private static let step = 10_000
    private static let format = "2"

    /// - Parameters:
    ///   - path: the index file; created if missing.
    ///   - fold: folds a name for comparison, in the index and in searches.
    package init(path: String, catalog: Catalog, fold: @escaping @Sendable ([UInt8]) -> String) throws(CatalogError) {
        self.catalog = catalog
        self.fold = fold
        self.path = path
        do {
            let database = try Self.open(path)
            opened = AdaptiveMutex(database)
            let mark = try database.read { db in
                try Row.fetchOne(db, sql: "SELECT token, low, high FROM mark").map { row in
                    (token: row[0] as String, low: row[1] as Int64?, high: row[2] as Int64?)
                }
            }
            let token = try catalog.read { try $0.note(Self.token) }
            if let mark, mark.token == token, let low = mark.low, let high = mark.high, low <= high {
                state.withLock { $0.range = low...high }
            } else {
                try recreate()
            }
        } catch { throw Catalog.translate(error, path: path) }
    }

    fileprivate static let token = "name index"

    private static func open(_ path: String) throws -> DatabasePool {
        try IndexFile.open(path, label: "names", cache: 4_096) { db in
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS mark (token TEXT NOT NULL, low INTEGER, high INTEGER);
                    CREATE TABLE IF NOT EXISTS frequency (
                        trigram TEXT PRIMARY KEY, names INTEGER NOT NULL) WITHOUT ROWID;
                    CREATE VIRTUAL TABLE IF NOT EXISTS names USING fts5(
                        name, tokenize = 'trigram case_sensitive 1', detail = none, columnsize = 0);
                    """)
        }
    }

    private var database: DatabasePool { opened.withLock { $0 } }

    package func close() { try? database.close() }

    /// The numbers in the index; nil when it is empty.
    package var range: ClosedRange<Int64>? { state.withLock { $0.range } }

    private func recreate() throws {
        let token = Self.format + " " + UUID().uuidString
        try catalog.write { writer in
            try writer.takeNote(Self.token, token)
            try writer.noteMoves(of: nil)
            try writer.forgetAllMoves()
        }
        try database.write { db in
            try db.execute(sql: "DROP TABLE names; DELETE FROM mark; DELETE FROM frequency")
            try db.execute(
                sql: """
                    CREATE VIRTUAL TABLE names USING fts5(
                        name, tokenize = 'trigram case_sensitive 1', detail = none, columnsize = 0)
                    """)
            try db.execute(sql: "INSERT INTO mark VALUES (?, NULL, NULL)", arguments: [token])
        }
        state.withLock { $0 = State() }
    }

    // MARK: Searching

    /// Numbers of names that have all trigrams of this text, above `number`, in order. The caller checks the name
    /// itself: the trigrams may be in another order, and the name may have changed or be gone.
    ///
    /// - Parameter folded: at least ``shortest`` Unicode scalars.
    package func numbers(like folded: String, after number: Int64, limit: Int) throws(CatalogError) -> [Int64] {
        do {
            return try database.read { db in
                let match = try Self.rarest(Self.trigrams(of: folded), db)
                    .map { "\"" + $0.replacing("\"", with: "\"\"") + "\"" }.joined(separator: " ")
                let statement = try db.cachedStatement(
                    sql: "SELECT rowid FROM names WHERE names MATCH ? AND rowid > ? ORDER BY rowid LIMIT ?")
                return try Int64.fetchAll(statement, arguments: [match, number, limit])
            }
        } catch {
            // The search goes on without the index.
            state.withLock { $0 = State(isBroken: true) }
            throw Catalog.translate(error, path: path)
        }
    }

    private static func trigrams(of text: String) -> Set<String> {
        let scalars = Array(text.unicodeScalars)
        guard scalars.count >= shortest else { return [] }
        return Set(
            (0...(scalars.count - shortest)).map { String(String.UnicodeScalarView(scalars[$0..<$0 + shortest])) })
    }

    /// An upper bound for the matches: roughly how many indexed names have the rarest trigram of this text.
    ///
    /// - Parameter folded: as for ``numbers(like:after:limit:)``.
    package func estimate(_ folded: String) -> Int {
        let counts = try? database.read { db in
            let statement = try db.cachedStatement(sql: "SELECT names FROM frequency WHERE trigram = ?")
            return try Self.trigrams(of: folded).map { try Int.fetchOne(statement, arguments: [$0]) ?? 0 }
        }
        return counts?.min() ?? 0
    }

    private static func rarest(_ trigrams: Set<String>, _ db: Database) throws -> [String] {
        let statement = try db.cachedStatement(sql: "SELECT names FROM frequency WHERE trigram = ?")
        let counted = try trigrams.map { (text: $0, names: try Int.fetchOne(statement, arguments: [$0]) ?? 0) }
            .sorted { ($0.names, $0.text) < ($1.names, $1.text) }
        let some = counted.prefix(mostTrigrams)
        let isEnough = some.first.map { $0.names <= fewNames } ?? true
        return some.prefix(isEnough ? 1 : mostTrigrams).map(\.text)
    }

    /// Reports how many found numbers have no name.
    package func missed(_ count: Int) { state.withLock { $0.gone += count } }

    // MARK: Growing

    /// Adds some more names, or updates changed ones.
    ///
    /// - Returns: whether more work remains.
    package func grow() throws(CatalogError) -> Bool {
        do {
            return try turn.withLock {
                if state.withLock({ $0.isBroken }) {
                    try? database.close()
                    IndexFile.remove(path)
                    let new = try Self.open(path)
                    opened.withLock { $0 = new }
                    try recreate()
                } else if try isMostlyGone() {
                    try recreate()
                }
                try catchUp()
                guard let next = try nextPart() else { return false }
                try add(next)
                return try nextPart() != nil
            }
        } catch { throw Catalog.translate(error, path: path) }
    }

    /// The names to add next, and the range of the index afterwards.
    private func nextPart() throws -> (part: ClosedRange<Int64>, then: ClosedRange<Int64>)? {
        guard let all = try catalog.readAside({ try $0.nameNumbers() }) else { return nil }
        guard let range else {
            let part = all.lowerBound...min(all.upperBound, all.lowerBound + Int64(Self.step))
            return (part, part)
        }
        if all.upperBound > range.upperBound {
            let part = range.upperBound + 1...min(all.upperBound, range.upperBound + Int64(Self.step))
            return (part, range.lowerBound...part.upperBound)
        }
        if all.lowerBound < range.lowerBound {
            let part = max(all.lowerBound, range.lowerBound - Int64(Self.step))...range.lowerBound - 1
            return (part, part.lowerBound...range.upperBound)
        }
        return nil
    }

    private func add(_ next: (part: ClosedRange<Int64>, then: ClosedRange<Int64>)) throws {
        // Before the names are read, so that later changes are noted.
        try catalog.write { try $0.noteMoves(of: next.then) }
        let names = try catalog.readAside { reader in
            try reader.searchNames(after: next.part.lowerBound - 1, through: next.part.upperBound, limit: Self.step + 1)
        }
        let folded = names.map { (number: $0.0, name: fold($0.1)) }
        try database.write { db in
            let insertion = try db.cachedStatement(sql: "INSERT INTO names (rowid, name) VALUES (?, ?)")
            var counts: [String: Int] = [:]
            for name in folded {
                try insertion.execute(arguments: [name.number, name.name])
                for trigram in Self.trigrams(of: name.name) { counts[trigram, default: 0] += 1 }
            }
            let count = try db.cachedStatement(
                sql: """
                    INSERT INTO frequency VALUES (?, ?)
                    ON CONFLICT (trigram) DO UPDATE SET names = names + excluded.names
                    """)
            for (trigram, names) in counts { try count.execute(arguments: [trigram, names]) }
            try db.execute(
                sql: "UPDATE mark SET low = ?, high = ?", arguments: [next.then.lowerBound, next.then.upperBound])
        }
        state.withLock { $0.range = next.then }
    }

    /// Updates changed names.
    private func catchUp() throws {
        let moved = try catalog.readAside { reader in
            try reader.movedNames().prefix(Self.step).map { (number: $0, name: try reader.searchRow($0)?.name.bytes) }
        }
        if moved.isEmpty { return }
        try database.write { db in
            for name in moved {
                try db.execute(sql: "DELETE FROM names WHERE rowid = ?", arguments: [name.number])
                guard let bytes = name.name, range?.contains(name.number) == true else { continue }
                try db.execute(
                    sql: "INSERT INTO names (rowid, name) VALUES (?, ?)", arguments: [name.number, fold(bytes)])
            }
        }
        try catalog.write { writer in
            for name in moved {
                // Skip names that have changed again meanwhile.
                guard try writer.searchRow(name.number)?.name.bytes == name.name else { continue }
                try writer.forgetMove(of: name.number)
            }
        }
    }

    /// Whether most indexed names are gone from the catalog; checked only after some were found to be gone.
    private func isMostlyGone() throws -> Bool {
        guard state.withLock({ $0.gone }) > 1_000 else { return false }
        state.withLock { $0.gone = 0 }
        let here = try database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM names_content") ?? 0 }
        return try here > 2 * catalog.readAside { try $0.nameCount() }
    }
}

extension Catalog.Reader {
    func nameCount() throws -> Int { try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM name") ?? 0 }
}

extension Catalog.Writer {
    /// From now on indexes made earlier are not trusted.
    package func distrustNameIndex() throws {
        try takeNote(NameIndex.token, "")
        try noteMoves(of: nil)
    }
}
