package import FileProvider
import Trees

/// Table `domain`, facts about the whole domain for the next mount; and table `vanished`, how many items the store has
/// deleted, and when.
extension Catalog.Reader {
    private static let byKey = Query("SELECT value FROM domain WHERE key = ?")
    private static let byPrefix = Query("SELECT key, value FROM domain WHERE key >= ?1 AND key < ?1 || char(1114111)")
    private static let confirmed = Query("SELECT 1 FROM item WHERE id <> 1 AND base_parent IS NOT NULL LIMIT 1")
    private static let vanishedAfter = Query("SELECT TOTAL(items) FROM vanished WHERE moment > ?")

    package func note(_ key: String) throws -> String? {
        try first(Self.byKey) {
            $0.add(key)
        } _: {
            $0.text(0)
        } ?? nil
    }

    package func notes(beginningWith prefix: String) throws -> [(key: String, value: String)] {
        try all(Self.byPrefix) {
            $0.add(prefix)
        } _: {
            ($0.text(0) ?? "", $0.text(1) ?? "")
        }
    }

    /// Whether the store has ever had an item.
    package func hasConfirmedItems() throws -> Bool { try exists(Self.confirmed) { _ in } }

    package func vanished(after moment: FileTime) throws -> Int {
        try first(Self.vanishedAfter) {
            $0.add(moment.nanoseconds)
        } _: {
            Int($0.int(0))
        } ?? 0
    }
}

extension Catalog.Writer {
    private static let replacement = Query("INSERT OR REPLACE INTO domain VALUES (?, ?)")
    private static let deletion = Query("DELETE FROM domain WHERE key = ?")
    private static let counting = Query(
        """
        INSERT INTO vanished SELECT ?1, ?2 WHERE ?2 > 0 OR EXISTS (SELECT 1 FROM vanished WHERE moment = ?1)
        ON CONFLICT (moment) DO UPDATE SET items = MAX(0, items + excluded.items)
        """)
    private static let vanishedDeletion = Query("DELETE FROM vanished WHERE moment BETWEEN ? AND ?")

    package func takeNote(_ key: String, _ value: String) throws {
        try run(Self.replacement) { bindings in
            bindings.add(key)
            bindings.add(value)
        }
    }

    package func forgetNote(_ key: String) throws { try run(Self.deletion) { $0.add(key) } }

    package func countVanished(_ items: Int, at moment: FileTime) throws {
        try run(Self.counting) { bindings in
            bindings.add(moment.nanoseconds)
            bindings.add(Int64(items))
        }
    }

    package func forgetVanished(_ moments: ClosedRange<FileTime>) throws {
        try run(Self.vanishedDeletion) { bindings in
            bindings.add(moments.lowerBound.nanoseconds)
            bindings.add(moments.upperBound.nanoseconds)
        }
    }
}
