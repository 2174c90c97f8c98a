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

extension Catalog.Reader {
    private static let meaningOfName = Query(
        "SELECT n.inode, i.kind FROM name n JOIN inode i ON i.id = n.inode WHERE n.id = ?")
    private static let placeOfName = Query("SELECT folder, inode FROM name WHERE id = ?")
    private static let placesOfInode = Query("SELECT folder, inode FROM name WHERE inode = ?")

    /// The inodes that the changed names mean.
    package func named(by rows: ChangedRows) throws -> [(inode: InodeID, kind: InodeKind)] {
        try rows.names.compactMap { number in
            try first(Self.meaningOfName) {
                $0.add(number)
            } _: {
                (InodeID(rawValue: $0.int(0)), InodeKind(rawValue: $0.int(1)) ?? .document)
            }
        }
    }

    /// The inodes in these folders that have changed, or have a changed name; at most `limit`.
    package func changed(_ rows: ChangedRows, in folders: Set<InodeID>, limit: Int) throws -> Set<InodeID> {
        var found: Set<InodeID> = []
        if folders.isEmpty { return found }
        func look(_ query: Query, _ number: Int64) throws {
            try forEach(query) {
                $0.add(number)
            } _: {
                if folders.contains(InodeID(rawValue: $0.int(0))) { found.insert(InodeID(rawValue: $0.int(1))) }
            }
        }
        for number in rows.names where found.count < limit { try look(Self.placeOfName, number) }
        for inode in rows.inodes where found.count < limit { try look(Self.placesOfInode, inode.rawValue) }
        return found
    }
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
