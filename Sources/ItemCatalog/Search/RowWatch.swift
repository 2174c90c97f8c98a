import GRDB
import GRDBSQLite
import Locking
package import Trees

/// The rows that transactions have changed.
package struct ChangedRows: Sendable {
    package var names: Set<Int64> = []
    package var inodes: Set<InodeID> = []
    package var items: Set<ItemID> = []
    /// Conflicts have changed.
    package var hasConflicts = false
    /// More rows changed than are worth listing.
    package var isTooMany = false

    package init() {}

    package var isEmpty: Bool {
        names.isEmpty && inodes.isEmpty && items.isEmpty && !hasConflicts && !isTooMany
    }

    /// Adds the rows of `other`.
    package mutating func add(_ other: ChangedRows) {
        names.formUnion(other.names)
        inodes.formUnion(other.inodes)
        items.formUnion(other.items)
        hasConflicts = hasConflicts || other.hasConflicts
        isTooMany = isTooMany || other.isTooMany || count > Self.most
        if isTooMany { (names, inodes, items) = ([], [], []) }
    }

    fileprivate var count: Int { names.count + inodes.count + items.count }
    fileprivate static let most = 20_000
}

/// Notes the rows of each transaction for observers. SQLite reports every row, so no way of changing a row can be
/// forgotten. Without observers SQLite's hook is not installed.
///
/// Source: sqlite.org/c3ref/update_hook.html. The hook is not called for tables without row ids, such as `xattr`: a
/// change of `xattr` changes the inode's date too.
///
/// `@unchecked Sendable`: `rows` is used only within the catalog's turn to write.
final class RowWatch: @unchecked Sendable {
    private struct State {
        var observers: [Int: @Sendable (ChangedRows) -> Void] = [:]
        var next = 0
    }
    private let state = AdaptiveMutex(State())
    private var rows = ChangedRows()

    /// Call within the catalog's turn. `observer` is called there as well, and must only take a note.
    func add(_ observer: @escaping @Sendable (ChangedRows) -> Void, _ connection: SQLiteConnection?) -> Int {
        let (key, isFirst) = state.withLock { state in
            defer { state.next += 1 }
            let isFirst = state.observers.isEmpty
            state.observers[state.next] = observer
            return (state.next, isFirst)
        }
        guard isFirst else { return key }
        rows = ChangedRows()
        sqlite3_update_hook(
            connection,
            { context, _, _, table, row in
                Unmanaged<RowWatch>.fromOpaque(context!).takeUnretainedValue().changed(table, row)
            },
            Unmanaged.passUnretained(self).toOpaque())
        return key
    }

    /// Call within the catalog's turn.
    func remove(_ key: Int, _ connection: SQLiteConnection?) {
        let isEmpty = state.withLock { state in
            state.observers[key] = nil
            return state.observers.isEmpty
        }
        if isEmpty { sqlite3_update_hook(connection, nil, nil) }
    }

    private func changed(_ table: UnsafePointer<CChar>?, _ row: Int64) {
        guard let table, !rows.isTooMany else { return }
        switch (UInt8(bitPattern: table[0]), UInt8(bitPattern: table[1])) {
        case (UInt8(ascii: "n"), _): rows.names.insert(row)
        case (UInt8(ascii: "i"), UInt8(ascii: "n")): rows.inodes.insert(InodeID(rawValue: row))
        case (UInt8(ascii: "i"), UInt8(ascii: "t")): rows.items.insert(ItemID(rawValue: row))
        case (UInt8(ascii: "c"), _): rows.hasConflicts = true
        default: return
        }
        if rows.count > ChangedRows.most { rows.isTooMany = true }
    }

    /// Call within the turn of the transaction that has ended.
    func ended(isCommitted: Bool) {
        guard !rows.isEmpty else { return }
        if isCommitted { for observer in state.withLock({ Array($0.observers.values) }) { observer(rows) } }
        rows = ChangedRows()
    }
}
