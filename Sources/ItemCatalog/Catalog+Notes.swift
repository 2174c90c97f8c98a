import GRDB

/// What is to be known of the domain as a whole at the next mount.
extension Catalog.Reader {
    private static let byKey = Query("SELECT value FROM domain WHERE key = ?")

    package func note(_ key: String) throws -> String? {
        try first(Self.byKey) {
            $0.add(key)
        } _: {
            $0.text(0)
        } ?? nil
    }

    /// Whether the store had anything.
    package func hasConfirmedItems() throws -> Bool {
        try Row.fetchOne(db, sql: "SELECT 1 FROM item WHERE id <> 1 AND base_parent IS NOT NULL LIMIT 1") != nil
    }
}

extension Catalog.Writer {
    private static let replace = Query("INSERT OR REPLACE INTO domain VALUES (?, ?)")

    package func takeNote(_ key: String, _ value: String) throws {
        try run(Self.replace) { bindings in
            bindings.add(key)
            bindings.add(value)
        }
    }
}
