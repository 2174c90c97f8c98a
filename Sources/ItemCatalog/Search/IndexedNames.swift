import FileProvider
import GRDB
import Locking
import Trees

/// The range of names in the index (``NameIndex``), so that changes of these names are noted for it.
final class IndexedNames: Sendable {
    private struct State {
        var isKnown = false
        var range: ClosedRange<Int64>?
    }
    private let state = AdaptiveMutex(State())
    static let note = "indexed names"

    /// Nil: there is no index, or it is empty.
    func range(_ read: () throws -> String?) rethrows -> ClosedRange<Int64>? {
        let known = state.withLock { $0 }
        if known.isKnown { return known.range }
        let range = try read().flatMap(Self.decode)
        set(range)
        return range
    }

    func set(_ range: ClosedRange<Int64>?) { state.withLock { $0 = State(isKnown: true, range: range) } }

    static func encode(_ range: ClosedRange<Int64>?) -> String {
        range.map { "\($0.lowerBound) \($0.upperBound)" } ?? ""
    }

    private static func decode(_ text: String) -> ClosedRange<Int64>? {
        let numbers = text.split(separator: " ").compactMap { Int64($0) }
        return numbers.count == 2 && numbers[0] <= numbers[1] ? numbers[0]...numbers[1] : nil
    }
}

extension Catalog.Writer {
    private static let movedInsertion = Query("INSERT OR IGNORE INTO moved_name VALUES (?)")
    private static let movedDeletion = Query("DELETE FROM moved_name WHERE id = ?")

    /// Notes that the name with this number may differ from the index.
    func noteMove(of number: Int64) throws {
        guard try indexedRange()?.contains(number) == true else { return }
        try run(Self.movedInsertion) { $0.add(number) }
    }

    func noteMove(to name: Filename, in folder: InodeID) throws {
        guard try indexedRange() != nil, let number = try number(of: name, in: folder) else { return }
        try noteMove(of: number)
    }

    private func indexedRange() throws -> ClosedRange<Int64>? {
        try indexedNames.range { try note(IndexedNames.note) }
    }

    /// From this transaction on, changes of these names are noted. If it rolls back, more names are noted than the
    /// index has.
    func noteMoves(of range: ClosedRange<Int64>?) throws {
        try takeNote(IndexedNames.note, IndexedNames.encode(range))
        indexedNames.set(range)
    }

    /// The index has the current name.
    func forgetMove(of number: Int64) throws { try run(Self.movedDeletion) { $0.add(number) } }

    func forgetAllMoves() throws { try db.execute(sql: "DELETE FROM moved_name") }
}
