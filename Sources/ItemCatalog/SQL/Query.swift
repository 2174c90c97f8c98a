import FileProvider
import GRDB
import GRDBSQLite
import Locking
import Synchronization
import Trees

/// A statement of the hot paths: prepared once per connection, bound and read by position. GRDB makes a value for each
/// column and copies the row; that turned a look-up of 2 µs in SQLite into 15 µs.
struct Query: Sendable {
    let sql: String
    /// Index into a connection's ``PreparedQueries``.
    fileprivate let number: Int

    private static let count = Atomic<Int>(0)

    init(_ sql: String) {
        self.sql = sql
        number = Self.count.add(1, ordering: .relaxed).oldValue
    }
}

/// The prepared statements of one connection.
///
/// `@unchecked Sendable`: used only where GRDB lets the connection be used, on one thread at a time.
final class PreparedQueries: @unchecked Sendable {
    /// Retained, so that no other connection can be mistaken for this one.
    private let db: Database
    private var statements: [Statement?] = []
    private var others: [String: Statement] = [:]

    fileprivate init(_ db: Database) { self.db = db }

    fileprivate func statement(_ query: Query) throws -> Statement {
        if query.number < statements.count, let statement = statements[query.number] { return statement }
        while statements.count <= query.number { statements.append(nil) }
        let statement = try db.makeStatement(sql: query.sql)
        statements[query.number] = statement
        return statement
    }

    fileprivate func statement(_ sql: String) throws -> Statement {
        if let known = others[sql] { return known }
        let statement = try db.makeStatement(sql: sql)
        others[sql] = statement
        return statement
    }

    /// The prepared statements of all connections of a catalog.
    final class Table: Sendable {
        private let connections = AdaptiveMutex<[ObjectIdentifier: PreparedQueries]>([:])

        func of(_ db: Database) -> PreparedQueries {
            connections.withLock { connections in
                if let known = connections[ObjectIdentifier(db)] { return known }
                let new = PreparedQueries(db)
                connections[ObjectIdentifier(db)] = new
                return new
            }
        }

        /// Call before the connection is closed.
        func forget(_ db: Database) { connections.withLock { $0[ObjectIdentifier(db)] = nil } }

        /// Call before all connections are closed; nobody may use a statement then.
        func clear() { connections.withLock { $0 = [:] } }
    }
}

/// Binds values to a statement's question marks, in their order.
struct Bindings: ~Copyable {
    fileprivate let statement: SQLiteStatement
    private var position: Int32 = 0

    fileprivate init(_ statement: SQLiteStatement) { self.statement = statement }

    mutating func add(_ value: Int64) {
        position += 1
        sqlite3_bind_int64(statement, position, value)
    }

    mutating func add(_ value: Bool) { add(Int64(value ? 1 : 0)) }

    /// A file's date: nanoseconds since 1970 as an integer; dates before 1677 and after 2262 do not fit and are stored
    /// as a BLOB (``FileTime/blob``).
    mutating func add(_ time: FileTime) {
        if let number = time.exactNanoseconds { add(number) } else { add(time.blob) }
    }

    mutating func add(_ time: FileTime?) {
        if let time { add(time) } else { addNull() }
    }

    mutating func addNull() {
        position += 1
        sqlite3_bind_null(statement, position)
    }

    mutating func add(_ value: Int64?) {
        if let value { add(value) } else { addNull() }
    }

    /// As a BLOB.
    mutating func add(_ bytes: [UInt8]?) {
        guard let bytes else { return addNull() }
        position += 1
        // A null pointer would bind NULL, whatever the length.
        if bytes.isEmpty {
            sqlite3_bind_zeroblob(statement, position, 0)
        } else {
            sqlite3_bind_blob64(statement, position, bytes, UInt64(bytes.count), Self.transient)
        }
    }

    /// As TEXT.
    mutating func add(_ text: String?) {
        guard var text else { return addNull() }
        position += 1
        text.withUTF8 { bytes in
            let pointer = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
            // For an empty text any pointer will do.
            withUnsafePointer(to: CChar(0)) { empty in
                _ = sqlite3_bind_text64(
                    statement, position, pointer ?? empty, UInt64(bytes.count), Self.transient, UInt8(SQLITE_UTF8))
            }
        }
    }

    /// SQLITE_TRANSIENT: SQLite copies the bound value.
    private static var transient: sqlite3_destructor_type {
        unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }
}

/// The columns of the current row.
struct Columns {
    fileprivate let statement: SQLiteStatement

    func isNull(_ column: Int) -> Bool { sqlite3_column_type(statement, Int32(column)) == SQLITE_NULL }
    /// 0 for NULL.
    func int(_ column: Int) -> Int64 { sqlite3_column_int64(statement, Int32(column)) }
    func bool(_ column: Int) -> Bool { int(column) != 0 }
    func intOrNil(_ column: Int) -> Int64? { isNull(column) ? nil : int(column) }

    /// As written by ``Bindings/add(_:)``. 1970 for NULL.
    func time(_ column: Int) -> FileTime {
        guard sqlite3_column_type(statement, Int32(column)) == SQLITE_BLOB else {
            return FileTime(nanoseconds: int(column))
        }
        return bytes(column).flatMap { FileTime(blob: $0) } ?? FileTime(nanoseconds: 0)
    }
    func timeOrNil(_ column: Int) -> FileTime? { isNull(column) ? nil : time(column) }

    func bytes(_ column: Int) -> [UInt8]? {
        guard !isNull(column) else { return nil }
        guard let start = sqlite3_column_blob(statement, Int32(column)) else { return [] }
        return [UInt8](
            UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, Int32(column)))))
    }

    func text(_ column: Int) -> String? {
        guard let start = sqlite3_column_text(statement, Int32(column)) else { return nil }
        let count = Int(sqlite3_column_bytes(statement, Int32(column)))
        return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }
}

extension Catalog.Reader {
    private func prepared(
        _ query: Query, _ bind: (inout Bindings) -> Void
    ) throws -> SQLiteStatement {
        let statement = try queries.statement(query).sqliteStatement
        var bindings = Bindings(statement)
        bind(&bindings)
        return statement
    }

    /// Whether there is a row.
    private func step(_ statement: SQLiteStatement) throws -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            let message = sqlite3_db_handle(statement).flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
        }
    }

    /// Runs a statement for its changes.
    func run(_ query: Query, _ bind: (inout Bindings) -> Void) throws {
        let statement = try prepared(query, bind)
        defer { sqlite3_reset(statement) }
        while try step(statement) {}
    }

    /// The first row, or nil.
    func first<T>(_ query: Query, _ bind: (inout Bindings) -> Void, _ read: (Columns) throws -> T) throws -> T? {
        let statement = try prepared(query, bind)
        defer { sqlite3_reset(statement) }
        return try step(statement) ? read(Columns(statement: statement)) : nil
    }

    /// Every row in turn; `each` must not run the same query.
    func forEach(_ query: Query, _ bind: (inout Bindings) -> Void, _ each: (Columns) throws -> Void) throws {
        let statement = try prepared(query, bind)
        defer { sqlite3_reset(statement) }
        while try step(statement) { try each(Columns(statement: statement)) }
    }

    func all<T>(_ query: Query, _ bind: (inout Bindings) -> Void, _ read: (Columns) throws -> T) throws -> [T] {
        var rows: [T] = []
        try forEach(query, bind) { rows.append(try read($0)) }
        return rows
    }

    /// Like `forEach`, for rare queries or queries with many forms.
    func all<T>(sql: String, _ bind: (inout Bindings) -> Void, _ read: (Columns) throws -> T) throws -> [T] {
        var rows: [T] = []
        try forEach(sql: sql, bind) { rows.append(try read($0)) }
        return rows
    }

    func forEach(sql: String, _ bind: (inout Bindings) -> Void, _ each: (Columns) throws -> Void) throws {
        let statement = try queries.statement(sql).sqliteStatement
        var bindings = Bindings(statement)
        bind(&bindings)
        defer { sqlite3_reset(statement) }
        while try step(statement) { try each(Columns(statement: statement)) }
    }

    func exists(_ query: Query, _ bind: (inout Bindings) -> Void) throws -> Bool {
        try first(query, bind) { _ in true } ?? false
    }

    static let begin = Query("BEGIN DEFERRED")
    static let beginToWrite = Query("BEGIN IMMEDIATE")
    private static let commit = Query("COMMIT")
    private static let rollback = Query("ROLLBACK")

    /// Commits before it returns; changes nothing when it throws.
    func inTransaction<T>(_ begin: Query, _ body: () throws -> T) throws -> T {
        try run(begin) { _ in }
        do {
            let result = try body()
            try run(Self.commit) { _ in }
            return result
        } catch {
            // Some errors have already ended the transaction (sqlite.org/lang_transaction.html).
            if db.isInsideTransaction { try? run(Self.rollback) { _ in } }
            throw error
        }
    }

    var lastInserted: Int64 { db.lastInsertedRowID }
}

extension FileTime {
    /// Seconds since 1970 (8 bytes) and nanoseconds (4), both big-endian.
    fileprivate var blob: [UInt8] {
        let (seconds, rest) = (UInt64(bitPattern: seconds), UInt32(subsecond))
        return (0..<8).reversed().map { UInt8(truncatingIfNeeded: seconds >> ($0 * 8)) }
            + (0..<4).reversed().map { UInt8(truncatingIfNeeded: rest >> ($0 * 8)) }
    }

    fileprivate init?(blob: [UInt8]) {
        guard blob.count == 12 else { return nil }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(seconds: Int64(bitPattern: number(blob[..<8])), nanoseconds: Int64(number(blob[8...])))
    }
}
