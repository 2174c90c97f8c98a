import FileProvider
import Foundation
import Locking
import Trees

/// The columns of a table in the order of a SELECT of all columns; rows are read by this order. Case `baseParent` is
/// column `base_parent`.
protocol TableColumn: CaseIterable, RawRepresentable, Sendable where RawValue == Int {}

extension TableColumn {
    var sql: String {
        "\(self)".replacingOccurrences(of: "([A-Z])", with: "_$1", options: .regularExpression).lowercased()
    }

    /// All columns under one table alias, for a SELECT.
    static func list(of alias: String) -> String { allCases.map { "\(alias).\($0.sql)" }.joined(separator: ", ") }
}

/// A row that contains all columns of a table, from some index on.
struct TableRow<Column: TableColumn> {
    let columns: Columns
    let first: Int

    func int(_ column: Column) -> Int64 { columns.int(first + column.rawValue) }
    func bool(_ column: Column) -> Bool { columns.bool(first + column.rawValue) }
    func intOrNil(_ column: Column) -> Int64? { columns.intOrNil(first + column.rawValue) }
    func time(_ column: Column) -> FileTime { columns.time(first + column.rawValue) }
    func timeOrNil(_ column: Column) -> FileTime? { columns.timeOrNil(first + column.rawValue) }
    func bytes(_ column: Column) -> [UInt8]? { columns.bytes(first + column.rawValue) }
    func text(_ column: Column) -> String? { columns.text(first + column.rawValue) }
}

/// Stored columns of a table that change together, and how to get them from a record. (A SELECT may read others, which
/// SQLite computes from these.)
///
/// An UPDATE names only changed columns: SQLite rewrites every index that contains a named column, even when the value
/// stays the same, and each rewrite is another page in the log.
struct ColumnGroup<Record, Column: TableColumn>: Sendable {
    let columns: [String]
    let bind: @Sendable (Record, inout Bindings) -> Void
    let isSame: @Sendable (Record, Record) -> Bool

    init<Value: Equatable & SendableMetatype>(
        _ columns: Column..., value: @escaping @Sendable (Record) -> Value,
        bind: @escaping @Sendable (Value, inout Bindings) -> Void
    ) {
        self.init(stored: columns.map(\.sql), value: value, bind: bind)
    }

    init<Value: Equatable & SendableMetatype>(
        stored columns: [String], value: @escaping @Sendable (Record) -> Value,
        bind: @escaping @Sendable (Value, inout Bindings) -> Void
    ) {
        self.columns = columns
        self.bind = { bind(value($0), &$1) }
        isSame = { value($0) == value($1) }
    }
}

/// All columns of a table except its row id.
struct TableColumns<Record, Column: TableColumn>: Sendable {
    let all: [ColumnGroup<Record, Column>]
    let insertion: Query
    /// Adds ``many`` rows.
    let insertions: Query
    private let table: String
    private let updates = UpdateQueries()

    init(_ table: String, _ all: [ColumnGroup<Record, Column>]) {
        self.table = table
        self.all = all
        let columns = all.flatMap(\.columns)
        let insert = "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES "
        let row = "(\(columns.map { _ in "?" }.joined(separator: ", ")))"
        insertion = Query(insert + row)
        insertions = Query(insert + Array(repeating: row, count: Catalog.Writer.many).joined(separator: ", "))
    }

    /// - Returns: the first new row id; the other rows have the next ones.
    func insert(_ records: ArraySlice<Record>, _ writer: Catalog.Writer) throws -> Int64 {
        try writer.run(records.count == 1 ? insertion : insertions) { bindings in
            for record in records {
                for group in all { group.bind(record, &bindings) }
            }
        }
        return writer.lastInserted - Int64(records.count) + 1
    }

    func update(_ record: Record, from old: Record, _ id: Int64, _ writer: Catalog.Writer) throws {
        var changed: UInt32 = 0
        for index in all.indices where !all[index].isSame(record, old) { changed |= 1 << UInt32(index) }
        guard changed != 0 else { return }
        func isChanged(_ index: Int) -> Bool { changed & 1 << UInt32(index) != 0 }
        let query = updates.of(changed) {
            let columns = all.indices.filter(isChanged).flatMap { all[$0].columns }
            return "UPDATE \(table) SET \(columns.map { "\($0) = ?" }.joined(separator: ", ")) WHERE id = ?"
        }
        try writer.run(query) { bindings in
            for index in all.indices where isChanged(index) { all[index].bind(record, &bindings) }
            bindings.add(id)
        }
    }
}

extension Catalog.Writer {
    /// So many rows are added by one statement, which SQLite does faster than as many statements: it opens each index
    /// once.
    static let many = 32

    /// Calls `body` for each ``many`` of `count` rows, and for each row of the rest.
    func inSlices(of count: Int, _ body: (Range<Int>) throws -> Void) rethrows {
        var next = 0
        while next < count {
            let end = next + (count - next >= Self.many ? Self.many : 1)
            try body(next..<end)
            next = end
        }
    }
}

/// One query for each set of groups that ever changed together.
private final class UpdateQueries: Sendable {
    private let queries = AdaptiveMutex<[UInt32: Query]>([:])

    func of(_ changed: UInt32, _ sql: () -> String) -> Query {
        queries.withLock { queries in
            if let known = queries[changed] { return known }
            let query = Query(sql())
            queries[changed] = query
            return query
        }
    }
}
